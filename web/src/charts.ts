// What all charts share: the parts of ECharts that are used, mounting, size, theme.

import { BarChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  DataZoomComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  VisualMapComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

import { el } from './dom';
import { color, onThemeChange } from './theme';

echarts.use([
  BarChart,
  HeatmapChart,
  LineChart,
  ScatterChart,
  DataZoomComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  VisualMapComponent,
  CanvasRenderer,
]);

export type Chart = echarts.ECharts;
export type Option = echarts.EChartsCoreOption;

const mounted = new Set<MountedChart>();
onThemeChange((printing) => {
  for (const chart of mounted) {
    chart.paint();
    // A canvas that waits for the next frame would be printed as it was.
    if (printing) chart.flush();
  }
});

/** A canvas with a sentence for those who do not see it. Drawn when it comes near the screen, or is printed. */
export class MountedChart {
  readonly host: HTMLElement;
  private chart: Chart | null = null;
  private readonly sizes: ResizeObserver;
  private readonly nearness: IntersectionObserver;

  constructor(
    label: string,
    className: string,
    private readonly option: () => Option,
    private readonly onDrawn: (chart: Chart) => void = () => undefined,
  ) {
    this.host = el('div', { class: `chart ${className}`, role: 'img', 'aria-label': label });
    this.sizes = new ResizeObserver(() => this.chart?.resize());
    this.nearness = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && this.draw(),
      {
        rootMargin: '300px',
      },
    );
    this.nearness.observe(this.host);
    mounted.add(this);
  }

  draw(): void {
    if (this.chart || !this.host.isConnected) return;
    this.nearness.disconnect();
    this.chart = echarts.init(this.host, null, { renderer: 'canvas' });
    this.paint();
    this.sizes.observe(this.host);
    this.onDrawn(this.chart);
  }

  paint(): void {
    this.chart?.setOption({ animation: false, ...this.option() });
  }

  flush(): void {
    this.draw();
    this.chart?.resize();
    this.chart?.getZr().flush();
  }

  merge(option: Option): void {
    this.chart?.setOption(option);
  }

  get drawn(): Chart | null {
    return this.chart;
  }

  dispose(): void {
    mounted.delete(this);
    this.nearness.disconnect();
    this.sizes.disconnect();
    this.chart?.dispose();
    this.chart = null;
  }
}

export function text(size = 12): Record<string, unknown> {
  return { color: color('muted'), fontSize: size, fontFamily: 'system-ui, sans-serif' };
}

/** Of any number of values, where the arguments of Math.max have a limit; at least `least`. */
export function largest(values: number[], least: number): number {
  return values.reduce((a, b) => Math.max(a, b), least);
}

/** Powers of ten as people write them. */
export function decade(value: number): string {
  if (value >= 0.001 && value < 10000) return String(Number(value.toPrecision(3)));
  return `1e${Math.round(Math.log10(value))}`;
}

/** An axis without ornament; `extra` overrides. */
export function axis(name: string, extra: Record<string, unknown>): Record<string, unknown> {
  return {
    name,
    nameLocation: 'middle',
    nameTextStyle: text(),
    axisLabel: { ...text(11), hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: color('line') } },
    axisTick: { show: false },
    splitLine: { show: false },
    ...extra,
  };
}

export function logAxis(
  name: string,
  low: number,
  high: number,
  extra: Record<string, unknown> = {},
): Record<string, unknown> {
  return axis(name, {
    type: 'log',
    min: low,
    max: high,
    // The ends of an axis are no powers of ten everywhere.
    axisLabel: {
      ...text(11),
      hideOverlap: true,
      formatter: decade,
      showMinLabel: isPower(low),
      showMaxLabel: isPower(high),
    },
    splitLine: { show: true, lineStyle: { color: color('grid') } },
    minorTick: { show: false },
    ...extra,
  });
}

export function line(at: { yAxis: number } | { xAxis: number }, label: string, style: string): Record<string, unknown> {
  return {
    ...at,
    lineStyle: { color: color(style), width: 1.5, type: [5, 4] },
    label: { show: label !== '', formatter: label, position: 'insideStartTop', color: color(style), fontSize: 11 },
  };
}

function isPower(value: number): boolean {
  return Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
}

export function powerAbove(value: number): number {
  return 10 ** Math.ceil(Math.log10(value) + 1e-9);
}
export function powerBelow(value: number): number {
  return 10 ** Math.floor(Math.log10(value) - 1e-9);
}
