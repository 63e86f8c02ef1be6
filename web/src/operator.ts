// The selected operator in depth.

import type { MountedChart } from './charts';
import type { DumpedTensor, ErrorMap, Finding, Metrics, Operand, Operator, Tried } from './document';
import { button, type Child, copyButton, el, facts, list, name, sentence, table } from './dom';
import type { Network, TensorDetails } from './network';
import { axisChart, histogramChart, planeChart } from './operator_charts';
import { replayCommand } from './overview';
import type { Selection } from './selection';
import { STATUSES, ratioOf, statusBadge } from './status';
import { dims, figure, figureOf, percent, plural } from './text';

/** Axes of the error map that get a chart. */
const MOST_AXES = 4;
const MOST_PARAMETERS = 200;

export function operatorSection(network: Network, selection: Selection): HTMLElement {
  const section = el('div', {}, el('p', {}, 'Select an operator in the chart, the graph or the table.'));
  let charts: MountedChart[] = [];
  selection.subscribe((index) => {
    const operator = network.operator(index);
    if (!operator) return;
    for (const chart of charts) chart.dispose();
    const panel = new OperatorPanel(network, selection, operator);
    charts = panel.charts;
    section.replaceChildren(...panel.parts());
  });
  return section;
}

class OperatorPanel {
  readonly charts: MountedChart[] = [];

  constructor(
    private readonly network: Network,
    private readonly selection: Selection,
    private readonly operator: Operator,
  ) {}

  parts(): HTMLElement[] {
    return [
      this.heading(),
      this.facts(),
      ...this.network.findings(this.operator.index).map((finding) => this.finding(finding)),
      el('div', { class: 'columns' }, this.operands(), this.parameters()),
      ...this.tensors().map((tensor) => this.tensor(tensor)),
    ].filter((part): part is HTMLElement => part !== null);
  }

  /** In execution order, but first those beyond their bound. */
  private tensors(): DumpedTensor[] {
    const beyond = (tensor: DumpedTensor) => (ratioOf(tensor) ?? 0) > 1;
    const all = this.network.tensors(this.operator.index);
    return [...all.filter(beyond), ...all.filter((tensor) => !beyond(tensor))];
  }

  private heading(): HTMLElement {
    const { index, type } = this.operator;
    const command = replayCommand(this.network.diagnosis, index);
    return el(
      'div',
      { class: 'operator-head' },
      el('h3', {}, `#${index} ${type} `, name(this.operator.name, 80)),
      statusBadge(this.operator.status),
      command ? copyButton('Copy replay command', command) : null,
    );
  }

  private facts(): HTMLElement {
    const error = this.operator.end_to_end;
    const ratio = ratioOf(this.operator);
    return facts(
      [
        [
          'status',
          `${STATUSES[this.operator.status].meaning}${this.operator.reason ? `: ${this.operator.reason}` : ''}`,
        ],
        ['own error', ratio === null ? null : [el('b', {}, figure(ratio)), ' bound units']],
        [
          'end to end',
          error &&
            `${figureOf(error.max_rel, error.nonfinite)} of max |reference|, max |error| ${figureOf(error.max_abs, error.nonfinite)}`,
        ],
        ['fed by', this.neighbours(this.network.inputs(this.operator.index).map((edge) => edge.from))],
        ['read by', this.neighbours(this.network.outputs(this.operator.index).map((edge) => edge.to))],
      ],
      'figures',
    );
  }

  private neighbours(indices: number[]): Child {
    const distinct = [...new Set(indices)];
    if (distinct.length === 0) return null;
    return distinct.slice(0, 24).map((index) => {
      const operator = this.network.operator(index);
      return (
        operator &&
        button(
          [statusBadge(operator.status), ` #${index} ${operator.type}`],
          () => this.selection.select(index, 'operator'),
          { class: 'chip' },
        )
      );
    });
  }

  private finding(finding: Finding): HTMLElement {
    return el(
      'article',
      { class: `card compact ${finding.kind}` },
      el(
        'p',
        { class: 'kicker' },
        el('b', {}, finding.id),
        finding.cause && el('code', {}, finding.cause),
        finding.proven ? el('span', { class: 'tag proven' }, '✓ proven') : null,
      ),
      el('p', {}, sentence(finding.title)),
      list(finding.evidence),
      finding.next_steps.length ? el('div', { class: 'next' }, el('b', {}, 'Next'), list(finding.next_steps)) : null,
    );
  }

  // --- What goes in, what configures it ---

  private operands(): HTMLElement {
    const replay = this.network.details(this.operator.index)?.replay;
    const columns = [{ title: 'role' }, { title: 'tensor' }, { title: 'dims' }, { title: 'type' }, { title: 'range' }];
    const rows = replay
      ? [
          ...replay.inputs.map((operand) => operandRow(operand, 'in')),
          ...replay.outputs.map((operand) => operandRow(operand, 'out')),
        ]
      : [
          ...this.operator.inputs.map((tensor) => this.tensorRow(tensor, 'in')),
          ...this.operator.outputs.map((tensor) => this.tensorRow(tensor, 'out')),
        ];
    return el(
      'section',
      { class: 'short' },
      el('h4', {}, 'Inputs and outputs'),
      rows.length ? table('Inputs and outputs', columns, rows) : el('p', {}, 'None.'),
    );
  }

  private tensorRow(tensor: string, role: string): Child[] {
    const maker = this.network.producer(tensor);
    const dumped = (maker ? this.network.tensors(maker.index) : []).find((each) => each.tensor === tensor);
    if (!dumped) return [role, tensor, 'not in the dump', maker?.status === 'set_aside' ? 'constant' : '', ''];
    const range = dumped.local ?? dumped.baseline;
    return [
      role,
      [name(tensor), alias(dumped.name, tensor)],
      shape(dumped.dims, dumped.device_dims, dumped.layout),
      kind(dumped),
      range ? rangeText(range.actual_min, range.actual_max) : '',
    ];
  }

  private parameters(): HTMLElement {
    const details = this.network.details(this.operator.index);
    const rows = (details?.parameters ?? []).map(
      ({ name: key, value }) => [el('code', {}, key), el('code', {}, value)] as Child[],
    );
    const missing = el(
      'p',
      { class: 'hint' },
      'They are in the details: run the diagnosis with ',
      el('code', {}, '--report'),
      ' or ',
      el('code', {}, '--details FILE.qdd'),
      '.',
    );
    return el(
      'section',
      { class: 'short' },
      el('h4', {}, 'Parameters'),
      details === null
        ? missing
        : rows.length
          ? table('Parameters', [{ title: 'name' }, { title: 'value' }], rows.slice(0, MOST_PARAMETERS))
          : el('p', {}, 'None.'),
    );
  }

  // --- What came out ---

  private tensor(tensor: DumpedTensor): HTMLElement {
    const details = this.network.detailsOfTensor(tensor.name);
    const stage = this.network
      .details(this.operator.index)
      ?.replay?.stages.find((each) => each.dump_tensor === tensor.name);
    return el(
      'section',
      { class: 'tensor' },
      el('h4', {}, 'Tensor ', name(tensor.name, 80), tensor.tensor ? null : ' (a stage inside the operator)'),
      facts(tensorFacts(tensor), 'figures'),
      el('div', { class: 'columns' }, metricsTable(tensor), this.histogram(details)),
      this.errorMap(stage?.errors ?? details?.errors ?? null, tensor),
      stage ? triedTable(stage.tried) : null,
    );
  }

  private histogram(details: TensorDetails | null): Child {
    const histogram = details?.histogram;
    if (!histogram) {
      const reason = details
        ? 'There is no histogram of this tensor.'
        : 'Histogram: not in this report. Run the diagnosis with --report or --details FILE.qdd.';
      return el('p', { class: 'hint' }, reason);
    }
    return el(
      'figure',
      {},
      el(
        'figcaption',
        {},
        'Values: ',
        el('i', { class: 'swatch device-swatch' }),
        'device ',
        el('i', { class: 'swatch line-swatch' }),
        'reference',
        outside(histogram.device_outside, histogram.reference_outside),
      ),
      this.keep(histogramChart(histogram)),
    );
  }

  private errorMap(errors: ErrorMap | null, tensor: DumpedTensor): Child {
    if (!errors) return null;
    const label = (axis: number | null) => (axis === null ? 'all' : axisName(axis, tensor.dims));
    const { plane } = errors;
    const charts = errors.axes
      .slice(0, MOST_AXES)
      .map((axis) =>
        el(
          'figure',
          {},
          el(
            'figcaption',
            {},
            `Largest error along ${label(axis.axis)}${axis.group > 1 ? `, ${axis.group} indices per bar` : ''}`,
          ),
          this.keep(axisChart(axis, label(axis.axis))),
        ),
      );
    const cells = plane.rows * plane.columns;
    if (cells > 1 && plane.bound_ratio.length === cells) {
      charts.push(
        el(
          'figure',
          {},
          el(
            'figcaption',
            {},
            `Error map, largest of all other axes${plane.row_group * plane.column_group > 1 ? `, ${plane.row_group}×${plane.column_group} elements per cell` : ''}`,
          ),
          this.keep(planeChart(plane, label(plane.row_axis), label(plane.column_axis))),
        ),
      );
    }
    return el(
      'div',
      {},
      el(
        'h5',
        {},
        `Where the error sits: ${errors.beyond ? `${plural(errors.beyond, 'element')} beyond the bound` : 'every element is within the bound'}`,
      ),
      el('div', { class: 'columns' }, charts),
      errors.worst.length ? worstTable(errors) : null,
    );
  }

  private keep(chart: MountedChart): HTMLElement {
    this.charts.push(chart);
    return chart.host;
  }
}

// --- Pieces ---

function alias(dumped: string, tensor: string): Child {
  return dumped === tensor ? null : [' as ', name(dumped)];
}

function shape(logical: number[] | null, device: number[] | null, layout: string | null): string {
  const same = !device || dims(logical) === dims(device);
  return `${dims(logical)}${same ? '' : ` (${layout ?? 'device'} ${dims(device)})`}`;
}

function kind(tensor: { dtype: string | null; encoding: { scale: number | null; offset: number } | null }): string {
  const { encoding } = tensor;
  return `${tensor.dtype ?? ''}${encoding ? ` scale ${figure(encoding.scale)}, offset ${encoding.offset}` : ''}`;
}

function rangeText(low: number | null, high: number | null): string {
  return low === null && high === null ? '' : `${figure(low)} … ${figure(high)}`;
}

function operandRow(operand: Operand, role: string): Child[] {
  const tensor = operand.tensor ?? operand.name ?? '';
  const source = operand.role === 'device' || operand.role === 'output' ? '' : ` (${operand.role})`;
  return [
    `${role}${source}`,
    [
      name(tensor),
      operand.dump_tensor ? alias(operand.dump_tensor, tensor) : null,
      operand.problem ? ` ${operand.problem}` : null,
    ],
    shape(operand.dims, operand.device_dims, operand.layout),
    kind(operand),
    operand.range ? rangeText(operand.range.min, operand.range.max) : '',
  ];
}

function outside(device: number, reference: number): Child {
  return device || reference
    ? el('span', { class: 'faint' }, ` outside or not finite: device ${device}, reference ${reference}`)
    : null;
}

/** Dims are in the model's order, where the second of four is the channel. */
function axisName(axis: number, extents: number[]): string {
  const known = extents.length === 4 ? ['batch', 'channel', 'height', 'width'][axis] : undefined;
  return known ? `${known} (axis ${axis})` : `axis ${axis}`;
}

function tensorFacts(tensor: DumpedTensor): [string, Child][] {
  const encoding = (value: DumpedTensor['encoding']) => value && `scale ${figure(value.scale)}, offset ${value.offset}`;
  return [
    [
      'own error',
      tensor.bound_ratio === null && !tensor.nonfinite
        ? null
        : [el('b', {}, figureOf(tensor.bound_ratio, tensor.nonfinite)), ' bound units'],
    ],
    ['within the bound', tensor.within_bound === null ? null : percent(tensor.within_bound)],
    ['dims', shape(tensor.dims, tensor.device_dims, tensor.layout)],
    ['type', `${tensor.dtype}${tensor.layout ? `, ${tensor.layout}` : ''}`],
    ['encoding', encoding(tensor.encoding)],
    ['in the model', tensor.encoding && (encoding(tensor.model_encoding) ?? 'no encoding')],
    ['problem', tensor.problem],
  ];
}

type Measure = [title: string, of: (metrics: Metrics) => string];

const MEASURES: Measure[] = [
  ['max |e|', (m) => figureOf(m.max_abs, m.nonfinite)],
  ['max |e| / max |reference|', (m) => figureOf(m.max_rel, m.nonfinite)],
  ['mean |e|', (m) => figureOf(m.mean_abs, m.nonfinite)],
  ['mean e', (m) => figureOf(m.mean, m.nonfinite)],
  ['root mean square', (m) => figureOf(m.rmse, m.nonfinite)],
  ['99 % of |e| below', (m) => figureOf(m.p99, m.nonfinite)],
  ['signal to noise, dB', (m) => (m.max_abs === 0 ? 'no error' : figureOf(m.sqnr_db, m.nonfinite))],
  ['cosine', (m) => (m.cosine === null ? '–' : String(m.cosine))],
  ['range of the device', (m) => rangeText(m.actual_min, m.actual_max)],
  ['range of the reference', (m) => rangeText(m.expected_min, m.expected_max)],
  ['zeros, device / reference', (m) => `${m.actual_zero} / ${m.expected_zero} of ${m.count}`],
  ['NaN or Inf, device / reference', (m) => `${m.actual_nan + m.actual_inf} / ${m.expected_nan + m.expected_inf}`],
];

function metricsTable(tensor: DumpedTensor): HTMLElement {
  const { local, baseline } = tensor;
  if (!local && !baseline) return el('p', {}, tensor.problem ?? 'It was not compared with anything.');
  const columns = [
    { title: 'e = device − reference' },
    { title: 'local replay', number: true },
    { title: 'fp32 baseline', number: true },
  ];
  const rows = MEASURES.map(([title, of]) => [title, local ? of(local) : '–', baseline ? of(baseline) : '–']);
  return table('Device against its local replay and against the fp32 baseline', columns, rows);
}

function worstTable(errors: ErrorMap): HTMLElement {
  const columns = [
    { title: 'element' },
    { title: 'device', number: true },
    { title: 'should be', number: true },
    { title: 'may be off by', number: true },
    { title: 'is off by, bound units', number: true },
  ];
  const rows = errors.worst.map((each) => [
    `[${each.position.join(', ')}]`,
    figure(each.device),
    figure(each.replay),
    figure(each.bound),
    figure(each.bound_ratio ?? Infinity),
  ]);
  return el('div', {}, el('h5', {}, 'Worst elements'), table('Elements with the largest errors', columns, rows));
}

function triedTable(tried: Tried[]): Child {
  if (tried.length === 0) return null;
  const columns = [
    { title: 'mistake' },
    { title: 'parameter' },
    { title: 'used → meant' },
    { title: 'fitted numbers', number: true },
    { title: 'error left, bound units', number: true },
    { title: 'result' },
  ];
  const rows = tried.map((each) => [
    el('code', {}, each.cause),
    each.parameter,
    `${each.used} → ${each.meant}`,
    String(each.free_parameters),
    figureOf(each.bound_ratio, each.nonfinite) + (each.judged_by === 'sample' ? ' or more' : ''),
    each.decisive
      ? el('span', { class: 'tag proven' }, '✓ reproduces it')
      : each.matches
        ? el('span', { class: 'tag' }, 'reproduces it too')
        : el('span', { class: 'faint' }, 'does not'),
  ]);
  return el(
    'div',
    {},
    el('h5', {}, 'Mistakes tried: the operator replayed as if the device had made them'),
    table('Mistakes tried', columns, rows),
  );
}
