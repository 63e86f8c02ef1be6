// The reports that the test opens, made by the program from recorded runs, and documents bent from those.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { fillPage } from '../../web/fill.mjs';
import { ROOT, Skip } from './harness.mjs';

const EXAMPLE = 'examples/mini';
const LARGEST = 256 * 1024 * 1024; // of a document on standard output

export class Pages {
  constructor(binary, corpus, folder) {
    this.binary = resolve(binary);
    this.corpus = corpus;
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** An example of the repository: "clean" or "broken". */
  example(run) {
    return this.recorded(ROOT, EXAMPLE, run);
  }

  /** A case of the recorded runs, which may not be there. */
  recordedCase(model, run) {
    if (!existsSync(join(this.corpus, model, run, 'dump'))) throw new Skip(`${model}/${run} is not in ${this.corpus}`);
    return this.recorded(this.corpus, model, run);
  }

  /** Commands run in `base`, so that pages name files as a user would. */
  recorded(base, folder, run, model = `${folder}/model.mnn`) {
    const details = join(this.folder, 'details.qdd');
    const page = join(this.folder, `${folder.replaceAll('/', '-')}-${run}.html`);
    const command = [
      'diagnose',
      '--model',
      model,
      ...inputsAndDump(folder, run),
      '--details',
      details,
      '--report',
      page,
    ];
    const diagnosis = this.json(base, command);
    return { diagnosis, details: JSON.parse(readFileSync(details, 'utf8')), page };
  }

  /** The broken example with an operator whose name is markup: patched in place, for a model file knows its lengths. */
  exampleWithMarkup(name) {
    const model = readFileSync(join(ROOT, EXAMPLE, 'model.mnn'));
    const renamed = 'ConvertTensor42';
    if (name.length !== renamed.length) throw new Error('the lengths differ');
    for (let at = 0; (at = model.indexOf(`${renamed}\0`, at)) >= 0;) model.write(name, at, 'latin1');
    const file = join(this.folder, 'markup.mnn');
    writeFileSync(file, model);
    return this.recorded(ROOT, EXAMPLE, 'broken', file);
  }

  fromLog(log) {
    return { diagnosis: this.json(ROOT, ['diagnose', '--model', `${EXAMPLE}/model.mnn`, '--log', log]), details: null };
  }

  /** The document of a command; its exit status says what it found, which does not matter here. */
  json(directory, command) {
    const done = this.run(directory, [...command, '--format', 'json']);
    if (done.status > 1 || !done.stdout) throw new Error(`${command.join(' ')}: ${done.stderr || done.error}`);
    return JSON.parse(done.stdout);
  }

  run(directory, command) {
    return spawnSync(this.binary, command, { cwd: directory, encoding: 'utf8', maxBuffer: LARGEST });
  }

  /** Tells where the page is: the program's own of a run, or one that is filled with a bent document. */
  write(name, { diagnosis, details, page }) {
    if (page) return page;
    const file = join(this.folder, `${name}.html`);
    writeFileSync(file, fillPage(diagnosis, details));
    return file;
  }
}

function inputsAndDump(folder, run) {
  return ['--inputs', `${folder}/input/inputs.json`, '--dump', `${folder}/${run}/dump`];
}

export function template() {
  return readFileSync(join(ROOT, 'build', 'web', 'report.html'), 'utf8');
}

/** Builds the template if the sources have changed, and installs what the test itself needs. */
export function prepare() {
  const script = join(ROOT, 'web', 'build.mjs');
  for (const options of [['--packages'], []])
    execFileSync(process.execPath, [script, ...options], { stdio: ['ignore', 2, 2] });
}

// --- Bent documents ---

/** Two more broken operators, so that there are several culprits. */
export function stacked({ diagnosis, details }, indices) {
  const bent = structuredClone(diagnosis);
  for (const index of indices) {
    const operator = bent.operators.find((each) => each.index === index);
    Object.assign(operator, { status: 'broken', bound_ratio: 321 });
    const finding = structuredClone(diagnosis.findings[0]);
    Object.assign(finding, {
      op: operator.name,
      op_index: index,
      op_type: operator.type,
      title: `${operator.type} \`${operator.name}\` is computed without its bias`,
    });
    bent.findings.push(finding);
  }
  bent.findings.sort((a, b) => a.op_index - b.op_index);
  return { diagnosis: bent, details };
}

/** Every fourth operator could not be judged. */
export function unjudged({ diagnosis }) {
  const bent = structuredClone(diagnosis);
  bent.verdict = 'inconclusive';
  const unknown = bent.operators
    .filter((operator) => operator.status === 'right')
    .filter((_, position) => position % 4 === 1);
  for (const operator of unknown)
    Object.assign(operator, {
      status: 'not_judged',
      reason: 'its input is not in the dump',
      bound_ratio: null,
      end_to_end: null,
    });
  const indices = new Set(unknown.map((operator) => operator.index));
  bent.tensors = bent.tensors.filter((tensor) => !indices.has(tensor.op_index));
  bent.coverage.ops_judged -= unknown.length;
  bent.coverage.not_judged = unknown.map((operator) => ({
    op_index: operator.index,
    op: operator.name,
    op_type: operator.type,
    reason: operator.reason,
  }));
  return { diagnosis: bent, details: null };
}

/** A chain of `count` operators, the one in the middle broken. */
export function chain({ diagnosis }, count) {
  const bent = structuredClone(diagnosis);
  const middle = Math.floor(count / 2);
  bent.operators = Array.from({ length: count }, (_, index) => ({
    index,
    name: `layer_${index}`,
    type: index % 3 ? 'Convolution' : 'BinaryOp',
    inputs: index ? [`t${index - 1}`, ...(index % 5 === 4 ? [`t${index - 4}`] : [])] : [],
    outputs: [`t${index}`],
    status: index === middle ? 'broken' : index > middle ? 'inherited' : 'right',
    reason: null,
    bound_ratio: index === middle ? 412 : (index % 10) / 10,
    end_to_end: { max_abs: 1e-3, max_rel: 1e-4 * (index + 1), bound_ratio: null },
  }));
  const sample = diagnosis.tensors.find((tensor) => tensor.local && tensor.baseline);
  bent.tensors = bent.operators.map((operator) => ({
    ...sample,
    name: operator.outputs[0],
    tensor: operator.outputs[0],
    op_index: operator.index,
    bound_ratio: operator.bound_ratio,
  }));
  Object.assign(bent.findings[0], { op: `layer_${middle}`, op_index: middle });
  Object.assign(bent.coverage, { ops_total: count, ops_set_aside: 0, ops_dumped: count, ops_judged: count });
  return { diagnosis: bent, details: null };
}

export const HOSTILE = [
  '</script><script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  `"'><svg onload=alert(3)>`,
  '__proto__',
  'constructor',
  '=HYPERLINK("http://example.invalid","x")',
  '+1+1',
  '@SUM(A1)',
  '-2+3',
  'a,"b"\r\nc',
  'evil\u202Egnp.exe',
  'zero\u200Bwidth\u0000nul',
  `{b|rich} {a} {c}`,
  "it's $(reboot) `id`",
  '@DATA@ @TITLE@',
  'x'.repeat(10_000),
  '\ud800 half a pair',
  '',
];

/** Hostile names for operators and tensors, and in every sentence. */
export function hostile({ diagnosis, details }) {
  const bent = structuredClone(diagnosis);
  const more = structuredClone(details);
  const nasty = (position) => HOSTILE[position % HOSTILE.length];
  bent.operators.forEach((operator, position) => (operator.name = nasty(position)));
  bent.tensors.forEach((tensor, position) => {
    const detail = more.tensors.find((each) => each.name === tensor.name);
    tensor.name = nasty(position);
    if (detail) detail.name = tensor.name;
  });
  const finding = bent.findings[0];
  const name = HOSTILE[0];
  bent.operators.find((operator) => operator.index === finding.op_index).name = name;
  Object.assign(finding, {
    op: name,
    title: `Convolution \`${name}\` is computed without its bias`,
    evidence: HOSTILE,
    next_steps: HOSTILE,
    ties: HOSTILE.slice(0, 3),
  });
  finding.suspect = { file: HOSTILE[1], parameter: HOSTILE[2], used: HOSTILE[10], meant: HOSTILE[15] };
  bent.summary = `Convolution \`${HOSTILE[15]}\` ${HOSTILE[0]} ${HOSTILE[1]} ${HOSTILE[15]}`;
  bent.model.file = `${HOSTILE[13]}.mnn`;
  bent.run.dump = HOSTILE[2];
  bent.run.soc = HOSTILE[1];
  bent.notes = HOSTILE;
  bent.log = {
    class: HOSTILE[1],
    summary: HOSTILE[0],
    confidence: HOSTILE[2],
    also: [],
    codes: [],
    evidence: HOSTILE.map((text, line) => ({ line, text })),
    next_steps: HOSTILE,
    lines: 3,
  };
  bent.similar_cases = [{ similarity: 0.5, shared: HOSTILE, case: { id: HOSTILE[1], title: HOSTILE[0] } }];
  more.operators.forEach((operator) => operator.parameters.push({ name: HOSTILE[1], value: HOSTILE[0] }));
  return { diagnosis: bent, details: more };
}
