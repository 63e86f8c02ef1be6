// Light and dark: the system's choice, until the reader makes another for this visit. Paper is always light.

type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const paper = matchMedia('print');
const listeners: ((printing: boolean) => void)[] = [];
let chosen: Theme | null = null;
let printing = false;

function theme(): Theme {
  if (printing || paper.matches) return 'light';
  return chosen ?? (system.matches ? 'dark' : 'light');
}

function apply(): void {
  document.documentElement.dataset['theme'] = theme();
  for (const listener of listeners) listener(printing);
}

/** Told after every change, to paint anew what style sheets do not reach; at once when the page is about to be printed. */
export function onThemeChange(listener: (printing: boolean) => void): void {
  listeners.push(listener);
}

export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  apply();
}

function print(begins: boolean): void {
  printing = begins;
  apply();
}

export function startTheme(): void {
  system.addEventListener('change', apply);
  paper.addEventListener('change', apply);
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  apply();
}

/** A colour of the style sheet, such as "broken" for --broken. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
