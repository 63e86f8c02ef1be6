// Comma-separated values (RFC 4180) that a spreadsheet may open: no cell of foreign text becomes a formula.

type Cell = string | number | null;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  // Spreadsheets run what begins with these, also after blanks; a leading apostrophe makes it text.
  const safe = /^[\s\u0000]*[=+\-@]/.test(cell) || /^[\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(rows: Cell[][]): string {
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

export function download(fileName: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
