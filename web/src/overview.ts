// The first screen: the verdict, the culprits, what was covered, and what ran. The chart follows in the same column.

import type { Diagnosis, Finding, Operator, SimilarCase } from './document';
import { button, type Child, copyButton, el, facts, list, name, sentence } from './dom';
import type { Network } from './network';
import type { Selection } from './selection';
import { ratioOf } from './status';
import { figure, figureOf, percent, plural, shellWord } from './text';

/** More culprits than this wait behind a button. */
const MOST_CARDS = 6;
/** What a known case and the run have in common: the most telling come first. */
const MOST_SHARED = 4;

const VERDICTS: Record<Diagnosis['verdict'], { label: string; look: string }> = {
  bug: { label: 'bug', look: 'broken' },
  rejected: { label: 'rejected', look: 'broken' },
  load_failed: { label: 'load failed', look: 'broken' },
  range: { label: 'range', look: 'warned' },
  inconclusive: { label: 'inconclusive', look: 'unknown' },
  clean: { label: 'clean', look: 'right' },
};

const KINDS: Record<Finding['kind'], string> = {
  bug: 'broken operator',
  input: 'wrong input',
  range: 'out of range',
  rejected: 'refused by QNN',
  unregistered: 'not supported by MNN’s QNN backend',
  load: 'no graph ran',
  warning: 'warning',
};

export function verdictBanner(diagnosis: Diagnosis): HTMLElement {
  const verdict = VERDICTS[diagnosis.verdict];
  return el(
    'div',
    { class: `verdict ${verdict.look}` },
    el('span', { class: 'badge' }, verdict.label),
    el('p', { class: 'summary' }, sentence(diagnosis.summary)),
  );
}

/** `chart` stands below the findings, beside coverage and run. */
export function overview(network: Network, selection: Selection, missing: string[], chart: HTMLElement): HTMLElement {
  const { diagnosis } = network;
  const warnings = diagnosis.findings.filter((finding) => finding.kind === 'warning');
  return el(
    'div',
    { class: 'overview' },
    el(
      'div',
      { class: 'findings' },
      culprits(network, selection),
      network.culprits().length ? null : nothingFound(network),
      logReading(diagnosis),
      warnings.length ? warningList(warnings) : null,
      chart,
    ),
    el(
      'aside',
      { class: 'side', 'aria-label': 'Coverage and run' },
      coverage(diagnosis),
      runFacts(diagnosis),
      missingParts(missing),
      similarCases(diagnosis),
    ),
  );
}

// --- Culprits ---

function culprits(network: Network, selection: Selection): Child {
  const found = network.culprits();
  const cards = found.map((finding, position) => card(network, selection, finding, position === 0));
  const hidden = cards.slice(MOST_CARDS);
  for (const each of hidden) each.hidden = true;
  const more = button(`show all ${found.length}`, () => {
    for (const each of hidden) each.hidden = false;
    more.remove();
  });
  return el('div', { class: 'cards' }, cards, hidden.length ? more : null);
}

function card(network: Network, selection: Selection, finding: Finding, large: boolean): HTMLElement {
  const [first, ...others] = finding.evidence;
  return el(
    'article',
    { class: `card ${large ? 'large' : 'compact'} ${finding.kind}` },
    el('p', { class: 'kicker' }, el('b', {}, finding.id), KINDS[finding.kind], place(network, finding)),
    el('h2', {}, sentence(finding.title)),
    el('p', { class: 'cause' }, causeOf(finding)),
    first ? el('p', { class: 'proof' }, sentence(first)) : null,
    large ? errorFigures(finding) : null,
    suspect(finding),
    large && others.length ? list(others) : null,
    large && finding.next_steps.length
      ? el('div', { class: 'next' }, el('b', {}, 'Next'), list(finding.next_steps))
      : null,
    actions(network, selection, finding),
  );
}

function place(network: Network, finding: Finding): Child {
  if (finding.op_index === null) return finding.node ? ['node ', name(finding.node, 40)] : null;
  const total = network.diagnosis.coverage.ops_total;
  const after = finding.consequence_of !== null && finding.consequence_of !== finding.op_index;
  return [
    el('span', {}, `#${finding.op_index} of ${total}, ${finding.op_type ?? 'operator'} `, name(finding.op ?? '', 40)),
    after ? el('span', {}, `after the refused #${finding.consequence_of}`) : null,
  ];
}

function causeOf(finding: Finding): Child {
  if (!finding.cause) return null;
  const known = finding.cause !== 'unexplained';
  return [
    'cause ',
    el('code', {}, finding.cause),
    ' ',
    finding.proven
      ? el('span', { class: 'tag proven' }, '✓ proven')
      : el('span', { class: 'tag' }, known ? 'not proven' : 'nothing tried reproduces it'),
    finding.ties.length
      ? [' equally well: ', finding.ties.map((tie, position) => [position ? ', ' : '', name(tie)])]
      : null,
  ];
}

function errorFigures(finding: Finding): Child {
  const local = finding.local_error;
  const inherited = finding.inherited_error;
  if (!local && !inherited) return null;
  return facts(
    [
      ['own error', local && [el('b', {}, figureOf(local.bound_ratio, local.nonfinite)), ' bound units']],
      ['largest', local && `${figureOf(local.max_abs, local.nonfinite)} = ${figure(local.max_rel)} of max |reference|`],
      ['from its inputs', inherited && `${figure(inherited.max_rel)} of max |reference|`],
    ],
    'figures',
  );
}

function suspect(finding: Finding): Child {
  const where = finding.suspect;
  if (!where?.file) return null;
  const change = where.parameter
    ? [
        ': ',
        name(where.parameter),
        where.used ? [' is ', name(where.used)] : null,
        where.meant ? [', meant ', name(where.meant)] : null,
      ]
    : null;
  return el('p', { class: 'open' }, el('b', {}, 'Open '), el('code', { class: 'path' }, where.file), change);
}

/** What opens the operator's replay in a terminal; null without a dump. */
export function replayCommand(diagnosis: Diagnosis, index: number): string | null {
  const { dump } = diagnosis.run;
  if (dump === null) return null;
  return `qnn-debug replay --model ${shellWord(diagnosis.model.file)} --dump ${shellWord(dump)} --op '#${index}'`;
}

function actions(network: Network, selection: Selection, finding: Finding): Child {
  const index = finding.op_index;
  if (index === null || !network.operator(index)) return null;
  const command = replayCommand(network.diagnosis, index);
  const look = button(
    'Look into it',
    () => {
      selection.select(index, 'card');
      document.getElementById('operator')?.scrollIntoView();
    },
    { class: 'primary', 'aria-label': `Look into it: operator #${index}` },
  );
  return el('div', { class: 'actions' }, look, command ? copyButton('Copy replay command', command) : null);
}

// --- Without culprits ---

function nothingFound(network: Network): HTMLElement {
  const { diagnosis } = network;
  if (diagnosis.verdict !== 'clean') {
    return el('article', { class: 'card large' }, el('h2', {}, 'No finding'), coverageAdvice(diagnosis));
  }
  return el(
    'article',
    { class: 'card large clean' },
    el('h2', {}, 'No operator is broken: what remains is rounding'),
    el(
      'p',
      {},
      `Each of the ${plural(diagnosis.coverage.ops_judged, 'judged operator')} was computed again from the device’s own inputs, and every element of the device’s result lies within the bound of its arithmetic.`,
    ),
    facts(
      [
        ['nearest to its bound', nearest(network)],
        ['at the outputs', outputs(network)],
      ],
      'figures',
    ),
    el(
      'p',
      { class: 'hint' },
      'The outputs still differ from an fp32 run by the figures above. That is what half precision amounts to over the whole network; no single operator adds more than its share.',
    ),
  );
}

function worst(operators: Operator[], measure: (operator: Operator) => number | null): Operator | null {
  let found: Operator | null = null;
  for (const operator of operators) {
    const value = measure(operator);
    if (value !== null && (found === null || value > (measure(found) ?? -1))) found = operator;
  }
  return found;
}

export function nearestToBound(network: Network): Operator | null {
  return worst(network.operators, ratioOf);
}

function nearest(network: Network): Child {
  const operator = nearestToBound(network);
  return operator && [el('b', {}, figure(ratioOf(operator))), ` of it: ${operator.type} `, name(operator.name, 32)];
}

function outputs(network: Network): Child {
  const operator = worst(network.graphOutputs(), (each) => each.end_to_end?.max_rel ?? null);
  const error = operator?.end_to_end;
  return error && [el('b', {}, figure(error.max_rel)), ` of the largest value, end to end: `, name(operator.name, 32)];
}

function coverageAdvice(diagnosis: Diagnosis): Child {
  const { ops_judged: judged, ops_dumped: dumped } = diagnosis.coverage;
  if (diagnosis.run.dump === null) return el('p', {}, 'There was no dump, so no operator was judged.');
  return el(
    'p',
    {},
    `${judged} of ${plural(dumped, 'dumped operator')} could be judged; the coverage says why the others could not.`,
  );
}

function logReading(diagnosis: Diagnosis): Child {
  const { log } = diagnosis;
  if (!log) return null;
  return el(
    'article',
    { class: 'card compact log' },
    el(
      'p',
      { class: 'kicker' },
      el('b', {}, 'log'),
      el('code', {}, log.class),
      `confidence ${log.confidence}, ${plural(log.lines, 'line')} read`,
    ),
    el('p', {}, sentence(log.summary)),
    log.evidence.length
      ? el(
          'ol',
          { class: 'log-lines' },
          log.evidence.map((each) => el('li', { value: each.line }, el('code', {}, each.text))),
        )
      : null,
    log.next_steps.length ? el('details', {}, el('summary', {}, 'What to do'), list(log.next_steps, 'ol')) : null,
  );
}

function warningList(warnings: Finding[]): HTMLElement {
  const heading = plural(warnings.length, 'warning');
  return el(
    'details',
    { class: 'warnings', open: warnings.length <= 3 },
    el('summary', {}, `${heading} (they do not change the verdict)`),
    el(
      'ul',
      {},
      warnings.map((finding) =>
        el(
          'li',
          {},
          el('b', {}, finding.id),
          ' ',
          sentence(finding.title),
          finding.evidence[0] ? [': ', sentence(finding.evidence[0])] : null,
        ),
      ),
    ),
  );
}

// --- The side ---

function coverage(diagnosis: Diagnosis): HTMLElement {
  const {
    ops_total: total,
    ops_set_aside: aside,
    ops_dumped: dumped,
    ops_judged: judged,
    not_judged: unknown,
  } = diagnosis.coverage;
  const meter = el('meter', {
    min: 0,
    max: Math.max(dumped, 1),
    value: judged,
    'aria-label': `${judged} of ${dumped} dumped operators judged`,
  });
  return el(
    'section',
    {},
    el('h2', {}, 'Coverage'),
    meter,
    facts([
      ['judged', [el('b', {}, String(judged)), ` of ${dumped} dumped`, dumped ? ` (${percent(judged / dumped)})` : '']],
      ['operators', `${total}, of which ${aside} constant or shape only`],
      ['not judged', unknown.length ? unknownOperators(diagnosis) : 'none'],
    ]),
  );
}

function unknownOperators(diagnosis: Diagnosis): HTMLElement {
  const unknown = diagnosis.coverage.not_judged;
  return el(
    'details',
    {},
    el('summary', {}, `${unknown.length}: not judged does not mean right`),
    el(
      'ul',
      { class: 'plain' },
      unknown.map((each) =>
        el(
          'li',
          {},
          each.op_index === null ? '' : `#${each.op_index} `,
          `${each.op_type} `,
          name(each.op, 32),
          `: ${each.reason}`,
        ),
      ),
    ),
  );
}

function runFacts(diagnosis: Diagnosis): HTMLElement {
  const { run, model } = diagnosis;
  const arch = run.arch === 'unknown' ? 'not told: the loosest bounds apply' : run.arch;
  const execution = run.execution === null ? null : `number ${run.execution} of ${run.executions.length} in the dump`;
  return el(
    'section',
    {},
    el('h2', {}, 'Run'),
    facts([
      ['model', [name(model.file, 40), ` ${bytes(model.bytes)}`]],
      [
        'made from',
        model.source && `${model.source}${model.converter_version ? `, converter ${model.converter_version}` : ''}`,
      ],
      ['SoC', run.soc ?? 'not told'],
      ['HTP', arch],
      ['QNN library', run.library],
      ['MNN', run.mnn],
      ['dump', run.dump === null ? 'none' : [name(run.dump, 44), ` ${plural(run.dumped_tensors, 'tensor')}`]],
      ['execution', execution],
      ['log', run.log && name(run.log, 44)],
      ['constants', run.constant_rounding && `rounded ${run.constant_rounding.replace('_', ' ')}`],
      [
        'bounds',
        run.tolerance_scale !== null && run.tolerance_scale !== 1
          ? `multiplied by ${figure(run.tolerance_scale)}`
          : null,
      ],
      ['inputs', run.inputs_given ? 'compared with the dump' : 'not given, so not compared'],
    ]),
  );
}

function bytes(count: number): string {
  return count < 1e6 ? `${figure(count / 1e3)} kB` : `${figure(count / 1e6)} MB`;
}

function missingParts(missing: string[]): Child {
  return missing.length ? el('section', {}, el('h2', {}, 'Not in this report'), list(missing)) : null;
}

function similarCases(diagnosis: Diagnosis): Child {
  const cases = diagnosis.similar_cases ?? [];
  if (cases.length === 0) return null;
  return el('section', {}, el('h2', {}, 'Seen before'), cases.map(similarCase));
}

function similarCase(similar: SimilarCase): HTMLElement {
  const known = similar.case;
  const shared = similar.shared.slice(0, MOST_SHARED).join(', ');
  return el(
    'div',
    { class: 'known' },
    el('p', {}, el('b', {}, known.id), ' ', sentence(known.title)),
    known.fix ? el('p', {}, 'What helped: ', sentence(known.fix)) : null,
    el('p', { class: 'hint' }, `similarity ${percent(similar.similarity)}: ${shared}`),
  );
}
