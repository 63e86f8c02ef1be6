// Finding an operator by what it is called.

import type { Operator } from './document';
import { el } from './dom';
import type { Network } from './network';
import { STATUSES, statusBadge } from './status';
import { shorten } from './text';

const MOST_HITS = 12;

/** Operators by a part of their name or type, by #25 or t25; exact hits first. */
function findOperators(network: Network, query: string): Operator[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [];
  const position = /^#?(\d+)$/.exec(wanted);
  const rank = (operator: Operator): number => {
    if (position && operator.index === Number(position[1])) return 0;
    if (operator.outputs.includes(wanted)) return 1;
    const name = operator.name.toLowerCase();
    if (name === wanted) return 2;
    if (name.startsWith(wanted)) return 3;
    if (name.includes(wanted)) return 4;
    return operator.type.toLowerCase().includes(wanted) ? 5 : 9;
  };
  return network.operators
    .map((operator) => ({ operator, rank: rank(operator) }))
    .filter((hit) => hit.rank < 9)
    .sort((a, b) => a.rank - b.rank || STATUSES[a.operator.status].rank - STATUSES[b.operator.status].rank)
    .map((hit) => hit.operator);
}

/** A combobox: arrows move through the hits, Enter takes one. */
export function operatorSearch(network: Network, choose: (index: number) => void): HTMLElement {
  const hits = el('ul', {
    id: 'search-hits',
    role: 'listbox',
    class: 'hits',
    hidden: true,
    'aria-label': 'Operators found',
  });
  const field = el('input', {
    type: 'search',
    role: 'combobox',
    placeholder: 'Find an operator',
    'aria-label': 'Find an operator by name, type, #25 or t25',
    'aria-controls': 'search-hits',
    'aria-expanded': 'false',
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  let found: Operator[] = [];
  let active = 0;

  const close = () => {
    hits.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const take = (operator: Operator | undefined) => {
    if (!operator) return;
    choose(operator.index);
    field.value = operator.name;
    close();
  };
  const mark = () => {
    [...hits.children].forEach((hit, position) => hit.setAttribute('aria-selected', String(position === active)));
    const current = hits.children[active];
    if (current) field.setAttribute('aria-activedescendant', current.id);
    current?.scrollIntoView({ block: 'nearest' });
  };
  const search = () => {
    found = findOperators(network, field.value).slice(0, MOST_HITS);
    active = 0;
    hits.replaceChildren(...found.map((operator, position) => hit(operator, position)));
    if (found.length === 0 && field.value.trim())
      hits.append(el('li', { class: 'faint' }, 'No operator has that name.'));
    hits.hidden = field.value.trim() === '';
    field.setAttribute('aria-expanded', String(!hits.hidden));
    mark();
  };
  const hit = (operator: Operator, position: number) => {
    const item = el(
      'li',
      { role: 'option', id: `hit-${position}`, 'aria-selected': 'false' },
      statusBadge(operator.status),
    );
    item.append(el('span', {}, `#${operator.index} ${operator.type} `, el('code', {}, shorten(operator.name, 40))));
    item.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      take(operator);
    });
    return item;
  };

  field.addEventListener('input', search);
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') take(found[active]);
    else if (event.key === 'Escape') close();
    else if (event.key === 'ArrowDown') active = Math.min(active + 1, found.length - 1);
    else if (event.key === 'ArrowUp') active = Math.max(active - 1, 0);
    else return;
    if (event.key !== 'Escape') event.preventDefault();
    if (event.key.startsWith('Arrow')) mark();
  });
  return el('div', { class: 'search' }, field, hits);
}
