// What stands at the end: notes, bounds, and the licences of what is bundled.

import type { Diagnosis, Licence, PageData } from './document';
import { type Child, el, list, name, table } from './dom';
import { figure } from './text';

export function notesSection(diagnosis: Diagnosis): HTMLElement | null {
  const bounds = diagnosis.bounds ?? [];
  if (diagnosis.notes.length === 0 && bounds.length === 0) return null;
  return el(
    'div',
    {},
    diagnosis.notes.length ? list(diagnosis.notes) : null,
    bounds.length ? boundsTable(diagnosis) : null,
  );
}

function boundsTable(diagnosis: Diagnosis): Child {
  const columns = [
    { title: '#', number: true },
    { title: 'operator' },
    { title: 'tensor' },
    { title: 'bound' },
    { title: 'error, bound units', number: true },
    { title: 'margin', number: true },
    { title: 'rests on' },
  ];
  const rows = (diagnosis.bounds ?? []).map(
    (use) =>
      [
        use.op_index ?? '–',
        [`${use.op_type} `, name(use.op, 32)],
        name(use.dump_tensor, 32),
        el('code', {}, use.key),
        figure(use.bound_ratio),
        figure(use.margin),
        use.basis
          ? `${use.basis.instances} sound instances in ${use.basis.runs} runs, ${use.basis.arch}, worst ${figure(use.basis.worst)}`
          : 'never measured',
      ] as Child[],
  );
  return [el('h3', {}, 'How far each tensor is from its bound'), table('Distances from the bounds', columns, rows)];
}

export function footer(data: PageData, licences: Licence[]): HTMLElement {
  return el(
    'footer',
    {},
    el(
      'p',
      {},
      `Made by ${data.tool.name} ${data.tool.version}. This file is complete in itself: it loads nothing and sends nothing.`,
    ),
    el(
      'details',
      {},
      el('summary', {}, `Licences of the bundled packages (${licences.map((each) => each.name).join(', ')})`),
      licences.map((each) =>
        el('section', {}, el('h3', {}, `${each.name} ${each.version}, ${each.licence}`), licenceText(each.text)),
      ),
    ),
  );
}

/** Line by line, because text of the page has no line breaks of its own. */
function licenceText(text: string): HTMLElement {
  const block = el('pre');
  block.textContent = text;
  return block;
}
