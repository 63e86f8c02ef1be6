// What each status of an operator is called and looks like: a word and a shape, never a colour alone.

import type { Operator, Status } from './document';

export interface StatusLook {
  label: string;
  meaning: string;
  path: string; // in a 16 x 16 box
  graphShape: string; // of cytoscape
  rank: number; // the most interesting first
}

export const STATUSES: Record<Status, StatusLook> = {
  broken: {
    label: 'broken',
    meaning: 'computes something else than the model asks for',
    path: 'M8 1 15 8 8 15 1 8Z',
    graphShape: 'octagon',
    rank: 0,
  },
  consequence: {
    label: 'after a refused node',
    meaning: 'wrong, at or after a node that QNN refused',
    path: 'M4.5 2h7L15 8l-3.5 6h-7L1 8Z',
    graphShape: 'hexagon',
    rank: 1,
  },
  not_judged: {
    label: 'not judged',
    meaning: 'could not be judged; it may be right or wrong',
    path: 'M2 2h3v1.5H3.5V5H2ZM7 2h2v1.5H7ZM11 2h3v3h-1.5V3.5H11ZM2 7h1.5v2H2ZM12.5 7H14v2h-1.5ZM2 11h1.5v1.5H5V14H2ZM7 12.5h2V14H7ZM12.5 11H14v3h-3v-1.5h1.5Z',
    graphShape: 'rectangle',
    rank: 2,
  },
  inherited: {
    label: 'right, inherits an error',
    meaning: 'right itself, fed by a broken one',
    path: 'M8 1.5 15 14H1Z',
    graphShape: 'cut-rectangle',
    rank: 3,
  },
  right: {
    label: 'right',
    meaning: 'within its error bound',
    path: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Z',
    graphShape: 'round-rectangle',
    rank: 4,
  },
  set_aside: {
    label: 'constant or shape only',
    meaning: 'computed on the host; leaves nothing on the device',
    path: 'M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z',
    graphShape: 'ellipse',
    rank: 5,
  },
};

const SVG = 'http://www.w3.org/2000/svg';

export function statusIcon(status: Status): SVGElement {
  const icon = document.createElementNS(SVG, 'svg');
  icon.setAttribute('viewBox', '0 0 16 16');
  icon.setAttribute('aria-hidden', 'true');
  icon.setAttribute('class', `icon ${status}`);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', STATUSES[status].path);
  icon.append(path);
  return icon;
}

export function statusBadge(status: Status): HTMLElement {
  const badge = document.createElement('span');
  badge.className = `status ${status}`;
  badge.append(statusIcon(status), STATUSES[status].label);
  return badge;
}

/** Wrong itself, by a mistake of its own or for want of a refused node. */
export function isWrong(operator: Pick<Operator, 'status'>): boolean {
  return operator.status === 'broken' || operator.status === 'consequence';
}

/** A broken operator whose error is not a number stands for the largest error. */
export function ratioOf(operator: Pick<Operator, 'bound_ratio' | 'nonfinite'>): number | null {
  if (operator.bound_ratio !== null) return operator.bound_ratio;
  return operator.nonfinite ? Infinity : null;
}
