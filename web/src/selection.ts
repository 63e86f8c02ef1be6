// The one operator that all parts of the page show; the address names it (#op-25).

type Listener = (index: number, origin: string) => void;

export class Selection {
  private index: number | null = null;
  private readonly listeners: Listener[] = [];

  get current(): number | null {
    return this.index;
  }

  /** Called at once when something is selected already. */
  subscribe(listener: Listener): void {
    this.listeners.push(listener);
    if (this.index !== null) listener(this.index, 'start');
  }

  /** `origin` names the part of the page that asks, so that it need not move itself. */
  select(index: number, origin: string): void {
    if (origin !== 'start' && origin !== 'address') writeAddress(index);
    if (index === this.index) return;
    this.index = index;
    for (const listener of this.listeners) listener(index, origin);
  }
}

function writeAddress(index: number): void {
  try {
    history.replaceState(null, '', `#op-${index}`);
  } catch {
    // Some viewers show the page without an address of its own; it works without links then.
  }
}

export function indexOfAddress(hash: string): number | null {
  const match = /^#op-(\d{1,9})$/.exec(hash);
  return match ? Number(match[1]) : null;
}
