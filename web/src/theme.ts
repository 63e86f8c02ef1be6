// Light and dark: the system's choice, until the reader makes another for this visit. Paper is always light.

type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const paper = matchMedia('print');
const listeners: (() => void)[] = [];
let chosen: Theme | null = null;

function theme(): Theme {
  if (paper.matches) return 'light';
  return chosen ?? (system.matches ? 'dark' : 'light');
}

function apply(): void {
  document.documentElement.dataset['theme'] = theme();
  for (const listener of listeners) listener();
}

/** Told after every change, to paint anew what style sheets do not reach. */
export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  apply();
}

export function startTheme(): void {
  system.addEventListener('change', apply);
  paper.addEventListener('change', apply);
  apply();
}

/** A colour of the style sheet, such as "broken" for --broken. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
