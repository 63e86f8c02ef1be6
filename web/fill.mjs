// Fills the page's template from documents, as src/report/html.cpp does: for working on the page, and for its test.
//
//   node web/fill.mjs DIAGNOSIS.json [DETAILS.qdd] >report.html

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url));
const MISSING =
  'Histograms, error maps and parameters: run the diagnosis with --report FILE.html or --details FILE.qdd.';

const escapeBlock = (json) =>
  json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const escapeText = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function version() {
  return /project\(qnn-debug VERSION ([0-9.]+)/.exec(readFileSync(join(web, '..', 'CMakeLists.txt'), 'utf8'))[1];
}

export function fillPage(diagnosis, details = null) {
  const data = {
    tool: { name: 'qnn-debug', version: version() },
    diagnosis,
    details,
    missing: details ? [] : [MISSING],
  };
  const parts = {
    TITLE: escapeText(`${diagnosis.verdict}: ${diagnosis.model.file}`),
    SUMMARY: escapeText(diagnosis.summary),
    DATA: escapeBlock(JSON.stringify(data)),
  };
  const template = readFileSync(join(web, '..', 'build', 'web', 'report.html'), 'utf8');
  return template.replace(/@(TITLE|SUMMARY|DATA)@/g, (_, name) => parts[name]);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const read = (file) => (file ? JSON.parse(readFileSync(file, 'utf8')) : null);
  stdout.write(fillPage(read(argv[2]), read(argv[3])));
}
