// The table of all tensors: sorted, filtered, downloaded.

import { csv, download } from './csv';
import type { Operator, Status } from './document';
import { button, type Child, el, name, scrollable } from './dom';
import type { Network } from './network';
import type { Selection } from './selection';
import { STATUSES, ratioOf, statusBadge } from './status';
import { dims, figure, percent, plural } from './text';

type Value = string | number | null;

interface Row {
  operator: Operator | null;
  values: Value[]; // one per column: sorted and downloaded
  element: HTMLTableRowElement;
  text: string; // filtered by, in lower case
  status: Status | null;
}

interface Source {
  operator: Operator | null;
  tensor: string;
  dims: number[] | null;
  type: string;
  ratio: number | null;
  within: number | null;
  maxAbs: number | null;
  maxRel: number | null;
  problem: string | null;
}

interface Column {
  title: string;
  unit?: string;
  number?: boolean;
  value: (source: Source) => Value;
  show: (source: Source) => Child;
}

const COLUMNS: Column[] = [
  { title: '#', number: true, value: (s) => s.operator?.index ?? null, show: (s) => s.operator?.index ?? '–' },
  {
    title: 'status',
    value: (s) => s.operator?.status ?? null,
    show: (s) => (s.operator ? statusBadge(s.operator.status) : '–'),
  },
  {
    title: 'operator',
    value: (s) => s.operator?.name ?? null,
    show: (s) => (s.operator ? name(s.operator.name, 26) : '–'),
  },
  { title: 'type', value: (s) => s.operator?.type ?? null, show: (s) => s.operator?.type ?? '–' },
  {
    title: 'tensor',
    value: (s) => s.tensor,
    show: (s) => (s.tensor ? name(s.tensor, 26) : el('span', { class: 'faint' }, s.problem ?? 'not in the dump')),
  },
  { title: 'own error', unit: 'bound units', number: true, value: (s) => s.ratio, show: (s) => figure(s.ratio) },
  { title: 'end to end', unit: 'of the maximum', number: true, value: (s) => s.maxRel, show: (s) => figure(s.maxRel) },
  { title: 'max |e|', unit: 'local', number: true, value: (s) => s.maxAbs, show: (s) => figure(s.maxAbs) },
  {
    title: 'within bound',
    unit: 'share of its elements',
    number: true,
    value: (s) => s.within,
    show: (s) => percent(s.within),
  },
  { title: 'dims', value: (s) => (s.dims ? s.dims.join('x') : null), show: (s) => dims(s.dims) },
  { title: 'element type', value: (s) => s.type, show: (s) => s.type },
];
const STATUS_COLUMN = 1;

const FILTERS: [string, string, (status: Status | null) => boolean][] = [
  ['all', 'all', () => true],
  ['broken', 'only broken', (status) => status === 'broken' || status === 'consequence'],
  ['not_judged', 'only not judged', (status) => status === 'not_judged' || status === null],
  ['inherited', 'only fed by a broken one', (status) => status === 'inherited'],
  ['right', 'only right', (status) => status === 'right'],
];

export function tensorSection(network: Network, selection: Selection): HTMLElement {
  return new TensorTable(network, selection).section;
}

function sources(network: Network): Source[] {
  const dumped = network.diagnosis.tensors.map((tensor): Source => {
    const ratio = tensor.bound_ratio === null && tensor.nonfinite ? Infinity : tensor.bound_ratio;
    return {
      operator: network.operator(tensor.op_index),
      tensor: tensor.name,
      dims: tensor.dims,
      type: tensor.dtype,
      ratio,
      within: tensor.within_bound,
      maxAbs: tensor.local?.max_abs ?? null,
      maxRel: tensor.baseline?.max_rel ?? null,
      problem: tensor.problem,
    };
  });
  return [...dumped, ...unknown(network)];
}

/** Operators of which the dump holds nothing would otherwise be missing without a word. */
function unknown(network: Network): Source[] {
  return network.operators
    .filter((operator) => operator.status === 'not_judged' && network.tensors(operator.index).length === 0)
    .map((operator) => ({
      operator,
      tensor: '',
      dims: null,
      type: '',
      ratio: ratioOf(operator),
      within: null,
      maxAbs: null,
      maxRel: null,
      problem: operator.reason,
    }));
}

class TensorTable {
  readonly section: HTMLElement;
  private readonly rows: Row[];
  private readonly body = el('tbody');
  private readonly headers: HTMLTableCellElement[];
  private readonly count = el('span', { class: 'hint', role: 'status' });
  private readonly words = el('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': 'Filter by operator, type or tensor',
    spellcheck: 'false',
  });
  private readonly choice = el(
    'select',
    { 'aria-label': 'Filter by status' },
    FILTERS.map(([value, label]) => el('option', { value }, label)),
  );
  private sorted = { column: 0, down: false };
  private visible: Row[] = [];

  constructor(
    network: Network,
    private readonly selection: Selection,
  ) {
    this.rows = sources(network).map((source) => this.row(source));
    this.headers = COLUMNS.map((column, position) => this.header(column, position));
    const content = el(
      'table',
      { class: 'tensors' },
      el('caption', { class: 'hidden' }, 'All dumped tensors'),
      el('thead', {}, el('tr', {}, this.headers)),
      this.body,
    );
    this.section = el('div', {}, this.toolbar(), scrollable('All dumped tensors', content));
    this.listen();
    this.arrange();
    selection.subscribe((index) => this.mark(index));
  }

  private toolbar(): HTMLElement {
    return el(
      'div',
      { class: 'toolbar' },
      this.words,
      this.choice,
      button('Download CSV', () => this.download()),
      this.count,
    );
  }

  private header(column: Column, position: number): HTMLTableCellElement {
    const control = button(
      [column.title, el('span', { class: 'sort', 'aria-hidden': 'true' })],
      () => this.sort(position),
      { title: column.unit },
    );
    return el('th', { scope: 'col', class: column.number ? 'number' : null, 'aria-sort': 'none' }, control);
  }

  private row(source: Source): Row {
    const cells = COLUMNS.map((column) => el('td', { class: column.number ? 'number' : null }, column.show(source)));
    const element = el('tr', { tabindex: -1, class: source.operator?.status }, cells);
    const { operator } = source;
    if (operator) element.dataset['operator'] = String(operator.index);
    const text = `#${operator?.index} ${operator?.name} ${operator?.type} ${source.tensor}`.toLowerCase();
    return {
      operator,
      values: COLUMNS.map((column) => column.value(source)),
      element,
      text,
      status: operator?.status ?? null,
    };
  }

  private listen(): void {
    this.words.addEventListener('input', () => this.arrange());
    this.choice.addEventListener('change', () => this.arrange());
    this.body.addEventListener('click', (event) => this.choose(event.target));
    this.body.addEventListener('keydown', (event) => this.key(event));
  }

  private choose(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest('tr') : null;
    const index = row?.dataset['operator'];
    if (index !== undefined) this.selection.select(Number(index), 'table');
  }

  /** One row is in the tab order; arrows go from row to row. */
  private key(event: KeyboardEvent): void {
    const here = this.visible.findIndex((row) => row.element === event.target);
    if (here < 0) return;
    const targets: Record<string, number> = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: this.visible.length - 1,
    };
    if (event.key === 'Enter' || event.key === ' ') this.choose(event.target);
    else if (event.key in targets) this.focus(targets[event.key] ?? here);
    else return;
    event.preventDefault();
  }

  private focus(position: number): void {
    const row = this.visible[Math.max(0, Math.min(position, this.visible.length - 1))];
    if (!row) return;
    for (const each of this.visible) each.element.tabIndex = -1;
    row.element.tabIndex = 0;
    row.element.focus();
  }

  private sort(column: number): void {
    // Figures: the largest are wanted first.
    const down = this.sorted.column === column ? !this.sorted.down : COLUMNS[column]?.number === true && column > 0;
    this.sorted = { column, down };
    this.arrange();
  }

  private arrange(): void {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const passes = FILTERS.find(([value]) => value === this.choice.value)?.[2] ?? (() => true);
    this.visible = this.rows.filter((row) => passes(row.status) && words.every((word) => row.text.includes(word)));
    this.visible.sort((a, b) => this.compare(a, b));
    this.body.replaceChildren(...this.visible.map((row) => row.element));
    this.visible.forEach((row, position) => (row.element.tabIndex = position === 0 ? 0 : -1));
    this.headers.forEach((header, position) => {
      const direction = this.sorted.down ? 'descending' : 'ascending';
      header.setAttribute('aria-sort', position === this.sorted.column ? direction : 'none');
    });
    this.count.textContent =
      this.visible.length === this.rows.length
        ? plural(this.rows.length, 'tensor')
        : `${this.visible.length} of ${plural(this.rows.length, 'tensor')}`;
  }

  private compare(a: Row, b: Row): number {
    const { column, down } = this.sorted;
    const [left, right] = [this.keyOf(a, column), this.keyOf(b, column)];
    // What is not known stands last in both directions.
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? left < right
          ? -1
          : left > right
            ? 1
            : 0
        : collator.compare(String(left), String(right));
    return down ? -order : order;
  }

  private keyOf(row: Row, column: number): Value {
    if (column === STATUS_COLUMN && row.status) return STATUSES[row.status].rank;
    return row.values[column] ?? null;
  }

  private mark(index: number): void {
    for (const row of this.rows) {
      const selected = row.operator?.index === index;
      row.element.classList.toggle('selected', selected);
      if (selected) row.element.setAttribute('aria-current', 'true');
      else row.element.removeAttribute('aria-current');
    }
  }

  private download(): void {
    const head = COLUMNS.map((column) => (column.unit ? `${column.title} (${column.unit})` : column.title));
    download('tensors.csv', csv([head, ...this.visible.map((row) => row.values)]));
  }
}

const collator = new Intl.Collator('en', { numeric: true });
