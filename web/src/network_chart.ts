// The error along the network: each operator's own error as bars, what has come together so far as a line.

import { type Chart, MountedChart, type Option, axis, largest, line, logAxis, powerAbove, text } from './charts';
import type { Operator, Status } from './document';
import { button, el } from './dom';
import type { Network } from './network';
import type { Selection } from './selection';
import { STATUSES, isWrong, ratioOf, statusBadge, statusIcon } from './status';
import { figure, plural, printable, shorten } from './text';
import { color } from './theme';

/** Smaller local errors are drawn as this: bit-exact operators have none, and a log scale has no zero. */
const SMALLEST = 1e-3;
/** Where the axis begins, so that the smallest still show a stub: judged and exact is not the same as not judged. */
const FLOOR = 4e-4;
/** With more culprits than this their names would cover one another. */
const LABELLED = 8;

export function networkChart(network: Network, selection: Selection): HTMLElement {
  const shown = network.operators.filter((operator) => operator.status !== 'set_aside');
  if (!shown.some((operator) => ratioOf(operator) !== null)) {
    return el('p', {}, 'No operator was judged in this run, so there is no error to draw.');
  }
  return new NetworkChart(network, selection, shown).section;
}

class NetworkChart {
  readonly section: HTMLElement;
  private readonly chart: MountedChart;
  private readonly readout = el('div', { class: 'tooltip', hidden: true });
  private readonly position = new Map<number, number>();
  private readonly top: number;

  constructor(
    private readonly network: Network,
    private readonly selection: Selection,
    private readonly shown: Operator[],
  ) {
    shown.forEach((operator, position) => this.position.set(operator.index, position));
    const finite = shown.map(ratioOf).filter((ratio): ratio is number => ratio !== null && Number.isFinite(ratio));
    this.top = powerAbove(largest(finite, 10)) * 10;
    this.chart = new MountedChart(
      this.label(),
      'tall',
      () => this.option(),
      (chart) => this.listen(chart),
    );
    const frame = el('div', { class: 'chart-frame' }, this.chart.host, this.readout);
    this.section = el('div', {}, this.legend(), frame, this.controls(), this.explanation());
    selection.subscribe(() => this.chart.merge({ series: [this.selectionSeries()] }));
  }

  private label(): string {
    const broken = this.shown.filter(isWrong);
    const beyond = broken
      .map((operator) => `#${operator.index} ${operator.name} ${figure(ratioOf(operator))}`)
      .slice(0, 5);
    const verdict = broken.length
      ? `${plural(broken.length, 'operator')} beyond its bound: ${beyond.join(', ')} bound units.`
      : 'No operator is beyond its bound.';
    return `Chart of the local error of ${plural(this.shown.length, 'operator')} in execution order. ${verdict} The table of tensors has the figures.`;
  }

  private legend(): HTMLElement {
    const present = new Set(this.shown.map((operator) => operator.status));
    const statuses = (Object.keys(STATUSES) as Status[]).filter((status) => present.has(status));
    return el(
      'div',
      { class: 'legend' },
      statuses.map(statusBadge),
      el('span', {}, el('i', { class: 'swatch line-swatch' }), 'end-to-end error (right scale)'),
      el('span', {}, el('i', { class: 'swatch band-swatch' }), 'what rounding explains'),
    );
  }

  private controls(): HTMLElement {
    const step = (by: number) => () => this.step(by, () => true);
    return el(
      'div',
      { class: 'toolbar' },
      button('← previous', step(-1), { 'aria-label': 'Select the previous operator' }),
      button('next →', step(1), { 'aria-label': 'Select the next operator' }),
      this.shown.some(isWrong) ? button('next broken', () => this.step(1, isWrong)) : null,
      button('whole network', () => this.chart.drawn?.dispatchAction({ type: 'dataZoom', start: 0, end: 100 })),
      el('span', { class: 'hint' }, 'Drag the bar below the chart, or Ctrl + wheel, to zoom; click to select.'),
    );
  }

  private explanation(): HTMLElement {
    return el(
      'p',
      { class: 'hint' },
      'Bars: the error that each operator adds by itself, in multiples of its bound; up to 1 is rounding. ',
      `Values below ${SMALLEST} are drawn as ${SMALLEST}, a stub. Hatched columns were not judged. Line: difference from the fp32 baseline with everything inherited, `,
      'relative to the largest value; operators without one leave a gap. Constants and shape arithmetic are left out.',
    );
  }

  private step(by: number, passes: (operator: Operator) => boolean): void {
    const here = this.position.get(this.selection.current ?? -1) ?? -1;
    const count = this.shown.length;
    for (let distance = 1; distance <= count; ++distance) {
      const candidate = this.shown[(here + by * distance + count * distance) % count];
      if (candidate && passes(candidate)) {
        this.selection.select(candidate.index, 'chart');
        this.bringIntoView(candidate.index);
        return;
      }
    }
  }

  private bringIntoView(index: number): void {
    const chart = this.chart.drawn;
    const position = this.position.get(index);
    if (!chart || position === undefined) return;
    const zoom = (chart.getOption()['dataZoom'] as { startValue: number; endValue: number }[] | undefined)?.[0];
    if (!zoom || (position >= zoom.startValue && position <= zoom.endValue)) return;
    const half = Math.floor((zoom.endValue - zoom.startValue) / 2);
    chart.dispatchAction({ type: 'dataZoom', startValue: Math.max(0, position - half), endValue: position + half });
  }

  // --- Drawing ---

  private option(): Option {
    const narrow = this.chart.host.clientWidth < 560;
    const indices = this.shown.map((operator) => `#${operator.index}`);
    return {
      grid: { left: 62, right: 62, top: 18, bottom: 78 },
      xAxis: [
        axis(narrow ? 'operator' : 'operators in execution order', { type: 'category', data: indices, nameGap: 26 }),
        // Whole columns are on an axis of their own: bars of one axis share its room.
        { type: 'category', data: indices, show: false },
      ],
      yAxis: [
        // startValue: bars grow from the floor; by themselves they would hang from 1, where the logarithm is 0.
        logAxis('local error (bound units)', FLOOR, this.top, { nameGap: 44, startValue: FLOOR }),
        this.endToEndAxis(),
      ],
      dataZoom: [
        {
          type: 'inside',
          xAxisIndex: [0, 1],
          zoomOnMouseWheel: 'ctrl',
          moveOnMouseMove: true,
          moveOnMouseWheel: false,
          filterMode: 'none',
        },
        {
          type: 'slider',
          xAxisIndex: [0, 1],
          bottom: 8,
          height: 22,
          showDetail: false,
          showDataShadow: false,
          filterMode: 'none',
          borderColor: color('line'),
          fillerColor: color('band'),
          backgroundColor: color('panel'),
          handleStyle: { color: color('surface'), borderColor: color('muted') },
          moveHandleSize: 0,
        },
      ],
      series: [
        this.selectionSeries(),
        this.unknownSeries(),
        this.localSeries(),
        this.endToEndSeries(),
        this.culpritSeries(),
      ],
    };
  }

  private endToEndAxis(): Record<string, unknown> {
    const values = this.shown.map((operator) => operator.end_to_end?.max_rel ?? 0);
    const high = powerAbove(largest(values, 1));
    return logAxis('end-to-end error (of the maximum)', 1e-6, high, {
      nameGap: 44,
      splitLine: { show: false },
      position: 'right',
    });
  }

  /** Marks the selected operator's column: a series of its own, because it alone changes when another is selected. */
  private selectionSeries(): Record<string, unknown> {
    const position = this.position.get(this.selection.current ?? -1);
    return {
      id: 'selection',
      type: 'bar',
      xAxisIndex: 1,
      silent: true,
      barWidth: '100%',
      barMinWidth: 5,
      barGap: '-100%',
      itemStyle: { color: color('selected') },
      data: position === undefined ? [] : [[position, this.top]],
    };
  }

  private unknownSeries(): Record<string, unknown> {
    const hatch = {
      symbol: 'rect',
      rotation: Math.PI / 4,
      dashArrayX: [1, 0],
      dashArrayY: [2, 5],
      color: color('unknown'),
    };
    return {
      id: 'unknown',
      type: 'bar',
      xAxisIndex: 1,
      silent: true,
      barWidth: '100%',
      barGap: '-100%',
      data: this.shown.map((operator) => (operator.status === 'not_judged' ? this.top : null)),
      itemStyle: { color: 'transparent', decal: hatch },
    };
  }

  private localSeries(): Record<string, unknown> {
    return {
      id: 'local',
      type: 'bar',
      barWidth: '78%',
      barMinWidth: 1,
      barMaxWidth: 26,
      silent: true,
      data: this.shown.map((operator) => this.bar(operator)),
      markLine: {
        silent: true,
        symbol: ['none', 'none'],
        animation: false,
        data: [line({ yAxis: 1 }, 'bound', 'muted')],
      },
      markArea: {
        silent: true,
        animation: false,
        itemStyle: { color: color('band') },
        data: [[{ yAxis: FLOOR }, { yAxis: 1 }]],
      },
    };
  }

  private bar(operator: Operator): Record<string, unknown> | null {
    const ratio = ratioOf(operator);
    if (ratio === null || operator.status === 'not_judged') return null;
    const decal = {
      symbol: 'rect',
      rotation: -Math.PI / 4,
      dashArrayX: [1, 0],
      dashArrayY: [2, 4],
      color: color('surface'),
    };
    return {
      value: Math.min(Math.max(ratio, SMALLEST), this.top),
      itemStyle: { color: color(operator.status), ...(isWrong(operator) ? { decal } : {}) },
    };
  }

  private endToEndSeries(): Record<string, unknown> {
    return {
      id: 'end-to-end',
      type: 'line',
      yAxisIndex: 1,
      silent: true,
      symbol: 'none',
      lineStyle: { color: color('text'), width: 1.6 },
      data: this.shown.map((operator) => {
        const error = operator.end_to_end?.max_rel ?? null;
        return error === null ? null : Math.max(error, 1e-6);
      }),
    };
  }

  private culpritSeries(): Record<string, unknown> {
    const wrong = this.shown.filter(isWrong);
    return {
      id: 'culprits',
      type: 'scatter',
      silent: true,
      symbol: 'diamond',
      symbolSize: 13,
      z: 5,
      itemStyle: { color: color('broken'), borderColor: color('surface'), borderWidth: 1.5 },
      label: { show: true, position: 'top', ...text(11), color: color('text'), formatter: '{b}' },
      labelLayout: { hideOverlap: true },
      data: wrong.map((operator) => ({
        // `name` fills {b}; braces in a label would be read as a template.
        name: wrong.length > LABELLED ? '' : this.shortName(operator),
        value: [this.position.get(operator.index), Math.min(ratioOf(operator) ?? SMALLEST, this.top)],
      })),
    };
  }

  private shortName(operator: Operator): string {
    return shorten(printable(operator.name || operator.type), 28);
  }

  // --- Pointing and selecting ---

  private listen(chart: Chart): void {
    performance.mark('chart');
    const pixels = chart.getZr();
    pixels.on('mousemove', (event) => this.point(event.offsetX, event.offsetY));
    pixels.on('globalout', () => (this.readout.hidden = true));
    pixels.on('click', (event) => {
      const operator = this.at(event.offsetX, event.offsetY);
      if (operator) this.selection.select(operator.index, 'chart');
    });
  }

  private at(x: number, y: number): Operator | null {
    const chart = this.chart.drawn;
    if (!chart?.containPixel({ gridIndex: 0 }, [x, y])) return null;
    const at = chart.convertFromPixel({ gridIndex: 0 }, [x, y])[0];
    return this.shown[at ?? -1] ?? null;
  }

  private point(x: number, y: number): void {
    const operator = this.at(x, y);
    this.readout.hidden = operator === null;
    if (!operator) return;
    this.readout.replaceChildren(...this.row(operator));
    const room = this.chart.host.clientWidth - this.readout.offsetWidth - 8;
    this.readout.style.left = `${Math.max(8, Math.min(x + 16, room))}px`;
    this.readout.style.top = `${Math.max(4, y - this.readout.offsetHeight - 12)}px`;
  }

  private row(operator: Operator): Node[] {
    const error = operator.end_to_end;
    const finding = this.network.findings(operator.index)[0];
    const lines: Node[] = [
      el('strong', {}, `#${operator.index} ${operator.type} `, el('code', {}, shorten(operator.name, 48))),
      el('span', { class: `status ${operator.status}` }, statusIcon(operator.status), STATUSES[operator.status].label),
    ];
    const ratio = ratioOf(operator);
    lines.push(
      el('span', {}, ratio === null ? (operator.reason ?? 'no figure') : `local error ${figure(ratio)} bound units`),
    );
    if (error?.max_rel !== null && error)
      lines.push(el('span', {}, `end-to-end ${figure(error.max_rel)} of the maximum (${figure(error.max_abs)})`));
    if (finding?.cause) lines.push(el('span', {}, `cause: ${finding.cause}${finding.proven ? ', proven' : ''}`));
    return lines;
  }
}
