// Making elements. Strings only ever become text nodes and attribute values: nothing in the page parses markup.

import { printable, shorten } from './text';

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined>;

function append(parent: Element, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const each of child) append(parent, each);
  else parent.append(child instanceof Node ? child : printable(String(child)));
}

/** An element with attributes (true: without a value; false and null: left out) and children. Text is made printable. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : printable(String(value)));
  }
  append(element, children);
  return element;
}

export function button(label: Child, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = el('button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', action);
  return element;
}

/** A name or a message of 10 kB must not push the rest off the screen. */
const LONGEST_IN_SENTENCE = 100;
const LONGEST_SENTENCE = 600;

/** A sentence of the document: what stands between backticks is a name or a command. */
export function sentence(text: string): Child[] {
  return text
    .split('`')
    .map((part, position) => (position % 2 ? name(part, LONGEST_IN_SENTENCE) : shorten(part, LONGEST_SENTENCE)));
}

/** A name of foreign origin, isolated from the direction of the text around it; in full when pointed at. */
export function name(text: string, most = 60): HTMLElement {
  if (text === '') return el('span', { class: 'faint' }, '(no name)');
  const shown = shorten(text, most);
  return el('code', { class: 'name', dir: 'ltr', title: shown === text ? null : text }, shown);
}

/** Terms and values, without the entries that have no value. */
export function facts(entries: [string, Child][], className = 'facts'): HTMLElement {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  return el(
    'dl',
    { class: className },
    shown.map(([term, value]) => el('div', {}, el('dt', {}, term), el('dd', {}, value))),
  );
}

export function list(items: string[], tag: 'ul' | 'ol' = 'ul'): HTMLElement {
  return el(
    tag,
    {},
    items.map((item) => el('li', {}, sentence(item))),
  );
}

export interface Column {
  title: string;
  number?: boolean; // aligned right
}

export function table(caption: string, columns: Column[], rows: Child[][]): HTMLElement {
  const cell = (child: Child, position: number) =>
    el('td', { class: columns[position]?.number ? 'number' : null }, child);
  return scrollable(
    caption,
    el(
      'table',
      {},
      el('caption', { class: 'hidden' }, caption),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          columns.map((column) => el('th', { scope: 'col', class: column.number ? 'number' : null }, column.title)),
        ),
      ),
      el(
        'tbody',
        {},
        rows.map((row) => el('tr', {}, row.map(cell))),
      ),
    ),
  );
}

/** Wide content scrolls by itself, so that the page never does; reachable by keyboard. */
export function scrollable(label: string, content: HTMLElement): HTMLElement {
  return el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': label }, content);
}

/** Two texts on one button: what it does, and for a moment that it was done. */
export function copyButton(label: string, text: string): HTMLButtonElement {
  const element = button(label, () => void copy(), { class: 'copy', title: text });
  async function copy() {
    const done = await copyText(text);
    element.textContent = done ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => (element.textContent = label), 1600);
  }
  return element;
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or not a secure context: leave it selected for the user.
    const field = el('textarea', { class: 'offscreen', 'aria-label': 'Command to copy', readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    field.addEventListener('blur', () => field.remove());
    return document.execCommand('copy');
  }
}
