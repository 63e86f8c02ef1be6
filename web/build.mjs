// Builds the page's template: one HTML file with script and style inlined, and the same as a C++ string.
//
//   node web/build.mjs [--cpp FILE]      bundle into build/web, unless nothing changed; copy the C++ source to FILE
//   node web/build.mjs --packages        only install everything of package.json, what the tests use included
//
// NPM names the npm to call. Two of these must not run at the same time: CMake and ./x hold a lock (cmake/web.cmake).

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url));
const output = join(web, '..', 'build', 'web');
const packages = join(web, 'node_modules');
/** Written last by an installation: the lock file that it followed, and whether the tests' packages are there. */
const stamp = join(packages, '.installed');

const read = (...path) => readFileSync(join(...path), 'utf8');
const sha256 = (text, encoding) => createHash('sha256').update(text).digest(encoding);

// --- Packages ---

function installed(everything) {
  if (!existsSync(stamp)) return false;
  const [lock, extent] = read(stamp).split(' ');
  return lock === lockHash() && (!everything || extent === 'everything');
}

function lockHash() {
  return sha256(read(web, 'package-lock.json') + read(web, 'package.json'), 'hex');
}

function install(everything) {
  if (installed(everything)) return;
  // No package needs to run anything of its own to be installed.
  const command = ['ci', '--ignore-scripts', ...(everything ? [] : ['--omit=dev'])];
  const done = spawnSync(process.env.NPM || 'npm', command, { cwd: web, stdio: ['ignore', 2, 2] });
  if (done.status !== 0) {
    console.error(
      `web/build.mjs: npm could not install the packages of web/package-lock.json (${done.error ?? 'see above'})`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, `${lockHash()} ${everything ? 'everything' : 'bundled'}`);
}

// --- Bundling ---

async function bundle() {
  const esbuild = await import('esbuild');
  const options = {
    bundle: true,
    minify: true,
    write: false,
    absWorkingDir: web,
    logLevel: 'warning',
    legalComments: 'none',
  };
  const script = await esbuild.build({
    ...options,
    entryPoints: ['src/main.ts'],
    format: 'iife',
    target: ['es2022'],
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
  });
  const style = await esbuild.build({
    ...options,
    entryPoints: ['src/style.css'],
    target: ['chrome111', 'firefox113', 'safari16'],
  });
  return {
    script: script.outputFiles[0].text.trim(),
    style: style.outputFiles[0].text.trim(),
    licences: licences(Object.keys(script.metafile.inputs)),
  };
}

// --- Licences ---

/** Every package of which a file was bundled, with the texts that its licence asks to pass on. */
function licences(inputs) {
  const directories = new Map();
  for (const input of inputs) {
    const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input);
    if (!match) continue;
    const files = directories.get(match[1]) ?? [];
    directories.set(match[1], [...files, input]);
  }
  return [...directories].sort().map(([directory, files]) => licence(join(web, directory), files));
}

function licence(directory, inputs) {
  const about = JSON.parse(read(directory, 'package.json'));
  const wanted = (name) => /^(licen[cs]e|notice|copying)/i.test(name);
  const texts = readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (!wanted(entry.name)) return [];
    if (!entry.isDirectory()) return [join(directory, entry.name)];
    return readdirSync(join(directory, entry.name)).map((name) => join(directory, entry.name, name));
  });
  // Packages that are bundles themselves keep the notices of their parts beside them.
  const beside = inputs.map((input) => join(web, `${input}.LEGAL.txt`)).filter(existsSync);
  if (texts.length === 0) throw new Error(`${about.name}: no licence text to pass on`);
  return {
    name: about.name,
    version: about.version,
    licence: about.license,
    text: [...texts, ...beside].map((file) => readFileSync(file, 'utf8').trim()).join('\n\n'),
  };
}

// --- The template ---

/** JSON that cannot end the element that holds it. */
const blockJson = (value) =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

function template({ script, style, licences }) {
  for (const text of [script, style]) {
    // What a parser of HTML would change or end, the hashes would not cover.
    if (/<\/(script|style)|<!--|[\r\0]/i.test(text))
      throw new Error('the bundle holds characters that cannot be inlined');
  }
  const source = (text) => `'sha256-${sha256(text, 'base64')}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${source(script)}`,
    `style-src ${source(style)}`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const parts = { POLICY: policy, STYLE: style, SCRIPT: script, LICENCES: blockJson(licences) };
  const page = read(web, 'src', 'index.html').replace(/@(POLICY|STYLE|SCRIPT|LICENCES)@/g, (_, name) => parts[name]);
  for (const [name, times] of [
    ['TITLE', 2],
    ['SUMMARY', 1],
    ['DATA', 1],
  ]) {
    if (page.split(`@${name}@`).length !== times + 1)
      throw new Error(`the template must have @${name}@ ${times} times`);
  }
  return page;
}

// --- C++ ---

/** A string literal in pieces: it compiles in a fraction of a second, where an array of a million characters takes many. */
function cppSource(page) {
  const bytes = Buffer.from(page, 'utf8');
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 4096)
    pieces.push(`    "${[...bytes.subarray(at, at + 4096)].map(cppCharacter).join('')}"`);
  return `// Made by web/build.mjs.
#include <string_view>
namespace qnndbg::embedded {
extern const std::string_view report_page;
const std::string_view report_page{
${pieces.join('\n')},
    ${bytes.length}};
}  // namespace qnndbg::embedded
`;
}

function cppCharacter(byte) {
  if (byte === 0x0a) return '\\n';
  if (byte === 0x22 || byte === 0x5c || byte === 0x3f) return `\\${String.fromCharCode(byte)}`;
  // Three octal digits end by themselves; hexadecimal ones would swallow what follows.
  if (byte < 0x20 || byte > 0x7e) return `\\${byte.toString(8).padStart(3, '0')}`;
  return String.fromCharCode(byte);
}

// --- Doing only what is needed ---

function sources() {
  const own = readdirSync(join(web, 'src'))
    .sort()
    .map((name) => join(web, 'src', name));
  return [...own, join(web, 'build.mjs'), join(web, 'package-lock.json')];
}

function sourcesHash() {
  return sha256(
    sources()
      .map((file) => `${relative(web, file)}\n${read(file)}`)
      .join('\0'),
    'hex',
  );
}

async function build(cpp) {
  const made = {
    page: join(output, 'report.html'),
    cpp: join(output, 'report_page.cpp'),
    hash: join(output, 'sources.sha256'),
  };
  const hash = sourcesHash();
  const current = Object.values(made).every(existsSync) && read(made.hash) === hash;
  if (!current) {
    install(false);
    mkdirSync(output, { recursive: true });
    const page = template(await bundle());
    writeFileSync(made.page, page);
    writeFileSync(made.cpp, cppSource(page));
    writeFileSync(made.hash, hash);
  }
  if (!cpp) return;
  mkdirSync(dirname(cpp), { recursive: true });
  copyFileSync(made.cpp, cpp);
}

const [option, value] = process.argv.slice(2);
if (option === '--packages') install(true);
else await build(option === '--cpp' ? value : null);
