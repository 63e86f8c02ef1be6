// Puts the page together: the first screen at once, the rest when that one is painted.

import { type Licence, type PageData, readBlock } from './document';
import { button, type Child, el } from './dom';
import { footer, notesSection } from './footer';
import { graphSection } from './graph';
import { Network } from './network';
import { networkChart } from './network_chart';
import { operatorSection } from './operator';
import { nearestToBound, overview, verdictBanner } from './overview';
import { Selection, indexOfAddress } from './selection';
import { STATUSES, ratioOf } from './status';
import { tensorSection } from './tensors';
import { figure, printable, shorten } from './text';
import { startTheme, toggleTheme } from './theme';

function section(id: string, title: string, content: Child): HTMLElement {
  return el(
    'section',
    { id, class: 'page-section', 'aria-labelledby': `${id}-title` },
    el('h2', { id: `${id}-title` }, title),
    content,
  );
}

/** A part that fails must not take the others with it. */
function guarded(make: () => Child): Child {
  try {
    return make();
  } catch (error) {
    console.error(error);
    return el('p', { class: 'failed' }, `This part could not be drawn: ${String(error)}`);
  }
}

function navigation(data: PageData, selection: Selection, network: Network): HTMLElement {
  const links: [string, string][] = [
    ['verdict', 'Verdict'],
    ['error', 'Error'],
    ['graph', 'Graph'],
    ['operator', 'Operator'],
    ['tensors', 'Tensors'],
  ];
  const selected = el('a', { href: '#operator', class: 'selected-link' });
  const spoken = el('span', { class: 'hidden', 'aria-live': 'polite' });
  selection.subscribe((index, origin) => {
    const operator = network.operator(index);
    if (!operator) return;
    const ratio = ratioOf(operator);
    selected.textContent = printable(`#${index} ${shorten(operator.name || operator.type, 24)}`);
    selected.className = `selected-link ${operator.status}`;
    if (origin === 'start') return;
    spoken.textContent = printable(
      `Selected operator ${index}, ${operator.type} ${operator.name}: ${STATUSES[operator.status].label}${ratio === null ? '' : `, ${figure(ratio)} bound units`}`,
    );
  });
  return el(
    'header',
    { class: 'top' },
    el('span', { class: 'brand' }, el('b', {}, data.tool.name), ` ${data.tool.version}`),
    el(
      'nav',
      { 'aria-label': 'Sections' },
      links.map(([id, label]) => el('a', { href: `#${id}` }, label)),
      selected,
    ),
    button('◐', toggleTheme, { class: 'theme', 'aria-label': 'Switch between light and dark', title: 'Light or dark' }),
    spoken,
  );
}

function firstSelected(network: Network): number | null {
  const linked = indexOfAddress(location.hash);
  if (network.operator(linked)) return linked;
  const culprit = network.culprits().find((finding) => network.operator(finding.op_index));
  return culprit?.op_index ?? nearestToBound(network)?.index ?? network.operators[0]?.index ?? null;
}

function afterPaint(action: () => void): void {
  requestAnimationFrame(() => setTimeout(action));
}

function start(): void {
  startTheme();
  const data = readBlock<PageData>('data');
  const network = new Network(data);
  const selection = new Selection();
  const main = el('main', { id: 'main' });
  const chart = el('div');
  const verdict = el(
    'section',
    { id: 'verdict', 'aria-label': 'Verdict' },
    guarded(() => verdictBanner(data.diagnosis)),
    guarded(() => overview(network, selection, data.missing, chart)),
  );
  document.body.append(
    el('a', { href: '#main', class: 'skip' }, 'Skip to the verdict'),
    navigation(data, selection, network),
    main,
  );
  main.append(el('h1', { class: 'hidden' }, document.title), verdict);
  const first = firstSelected(network);
  if (first !== null) selection.select(first, 'start');
  addEventListener('hashchange', () => {
    const index = indexOfAddress(location.hash);
    if (index !== null && network.operator(index)) selection.select(index, 'address');
  });
  afterPaint(() => {
    chart.append(
      section(
        'error',
        'Error along the network',
        guarded(() => networkChart(network, selection)),
      ),
    );
    afterPaint(() => fill(main, data, network, selection));
  });
}

function fill(main: HTMLElement, data: PageData, network: Network, selection: Selection): void {
  main.append(
    section(
      'graph',
      'Graph',
      guarded(() => graphSection(network, selection)),
    ),
  );
  main.append(
    section(
      'operator',
      'Operator',
      guarded(() => operatorSection(network, selection)),
    ),
  );
  main.append(
    section(
      'tensors',
      'Tensors',
      guarded(() => tensorSection(network, selection)),
    ),
  );
  const notes = guarded(() => notesSection(data.diagnosis));
  if (notes) main.append(section('notes', 'Notes', notes));
  document.body.append(footer(data, readBlock<Licence[]>('licences')));
  // The browser looked for the place that the address names before there was one.
  const place = indexOfAddress(location.hash) === null ? location.hash.slice(1) : 'operator';
  if (place) document.getElementById(place)?.scrollIntoView();
  document.documentElement.dataset['ready'] = 'true';
  performance.mark('ready');
}

try {
  start();
} catch (error) {
  console.error(error);
  document.body.append(el('p', { class: 'failed' }, `The documents in this report cannot be shown: ${String(error)}`));
}
