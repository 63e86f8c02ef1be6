// Charts of one tensor: its values, and where its errors sit.

import { MountedChart, type Option, axis, largest, line, logAxis, powerAbove, powerBelow, text } from './charts';
import type { AxisErrors, Figure, Histogram, PlaneErrors } from './document';
import { figure } from './text';
import { color } from './theme';

/** One for each decade; up to 1 is rounding. */
const STEPS = [1, 10, 100, 1000];

/** What is not finite stands for the largest error. */
function drawn(values: Figure[]): { values: number[]; top: number } {
  const finite = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const top = largest(finite, 10);
  return { values: values.map((value) => value ?? top), top };
}

export function histogramChart(histogram: Histogram): MountedChart {
  const label = `Histogram of the device’s and the reference’s values from ${figure(histogram.low)} to ${figure(histogram.high)}. The table beside it has the ranges.`;
  return new MountedChart(label, 'map', () => histogramOption(histogram));
}

function histogramOption(histogram: Histogram): Option {
  const bins = histogram.device.length;
  const width = (histogram.high - histogram.low) / Math.max(bins, 1);
  const counts = (values: number[]) => values.map((count) => (count > 0 ? count : null));
  const most = largest([...histogram.device, ...histogram.reference], 1);
  return {
    grid: { left: 52, right: 12, top: 14, bottom: 44 },
    xAxis: axis('value', {
      type: 'category',
      data: histogram.device.map((_, bin) => figure(histogram.low + (bin + 0.5) * width)),
      nameGap: 26,
    }),
    yAxis: logAxis('elements', 0.5, powerAbove(most), { nameGap: 36, startValue: 0.5 }),
    series: [
      {
        type: 'bar',
        data: counts(histogram.device),
        barCategoryGap: '8%',
        silent: true,
        itemStyle: { color: color('device') },
      },
      {
        type: 'line',
        step: 'middle',
        symbol: 'none',
        silent: true,
        data: counts(histogram.reference).map((count) => count ?? 0.5),
        lineStyle: { color: color('text'), width: 1.6 },
      },
    ],
  };
}

export function axisChart(errors: AxisErrors, title: string): MountedChart {
  const { values, top } = drawn(errors.bound_ratio);
  const worst = values.reduce((best, value, position) => (value > (values[best] ?? 0) ? position : best), 0);
  const label = `Largest error along ${title}, ${errors.extent} indices. The largest is ${figure(values[worst])} bound units at index ${worst * errors.group}.`;
  return new MountedChart(label, 'small', () => axisOption(errors, values, top, title));
}

function axisOption(errors: AxisErrors, values: number[], top: number, title: string): Option {
  const smallest = values.filter((value) => value > 0).reduce((a, b) => Math.min(a, b), 1);
  const low = Math.max(1e-3, powerBelow(smallest));
  return {
    grid: { left: 52, right: 12, top: 14, bottom: 44 },
    xAxis: axis(title, {
      type: 'category',
      data: values.map((_, position) => String(position * errors.group)),
      nameGap: 26,
    }),
    yAxis: logAxis('bound units', low, powerAbove(top), { nameGap: 38, startValue: low }),
    series: [
      {
        type: 'bar',
        silent: true,
        barCategoryGap: '10%',
        data: values.map((value) => ({
          value: Math.max(value, low),
          itemStyle: { color: color(value > 1 ? 'broken' : 'right') },
        })),
        markLine: { silent: true, symbol: ['none', 'none'], animation: false, data: [line({ yAxis: 1 }, '', 'text')] },
      },
    ],
  };
}

export function planeChart(plane: PlaneErrors, rows: string, columns: string): MountedChart {
  const { values } = drawn(plane.bound_ratio);
  const beyond = values.filter((value) => value > 1).length;
  const label = `Map of the largest error over ${rows} and ${columns}: ${beyond} of ${values.length} cells are beyond the bound.`;
  return new MountedChart(label, plane.rows > 1 ? 'map' : 'small', () => planeOption(plane, values, rows, columns));
}

function planeOption(plane: PlaneErrors, values: number[], rows: string, columns: string): Option {
  const pieces = STEPS.map((step, position) => ({
    gt: position ? (STEPS[position - 1] ?? 0) : -1,
    lte: step,
    label: position ? `${STEPS[position - 1]} – ${step}` : 'within the bound',
    color: color(`heat-${position}`),
  }));
  const last = STEPS[STEPS.length - 1] ?? 1;
  return {
    grid: { left: 52, right: 12, top: 14, bottom: 78 },
    xAxis: axis(columns, { type: 'category', data: names(plane.columns, plane.column_group), nameGap: 26 }),
    yAxis: axis(rows, { type: 'category', data: names(plane.rows, plane.row_group), inverse: true, nameGap: 36 }),
    visualMap: {
      type: 'piecewise',
      orient: 'horizontal',
      bottom: 0,
      left: 'center',
      itemWidth: 12,
      itemHeight: 12,
      itemGap: 8,
      textStyle: text(11),
      pieces: [...pieces, { gt: last, label: `> ${last}`, color: color(`heat-${STEPS.length}`) }],
    },
    series: [
      {
        type: 'heatmap',
        silent: true,
        data: values.map((value, cell) => [cell % plane.columns, Math.floor(cell / plane.columns), value]),
      },
    ],
  };
}

function names(count: number, group: number): string[] {
  return Array.from({ length: count }, (_, position) => String(position * group));
}
