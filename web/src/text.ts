// How foreign text and figures are written. Names come from models and logs that may be hostile.

// Control characters, direction overrides and other characters that show nothing but change what is seen.
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  if (character === '\r') return '\\r';
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** At most this much of one text is shown; a name of 10 kB must not bury the page. */
const LONGEST = 600;

/** Foreign text for the page: invisible characters become escapes, very long texts lose their middle. */
export function printable(text: string): string {
  return shorten(text, LONGEST).replace(INVISIBLE, escaped);
}

/** Names differ at their ends, so long ones lose their middle. Never cuts a surrogate pair. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const letters = [...text];
  if (letters.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - tail).join('')}…${letters.slice(letters.length - tail).join('')}`;
}

/** Three significant digits, as in the terminal view: 0.37, 411, 1.6e-2, 1230. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (!Number.isFinite(value)) return 'not finite';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-2) return value.toExponential(2).replace(/\.?0*e\+?/, 'e');
  return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}

/** A figure that is null although its object counts numbers that are not finite is one of those. */
export function figureOf(value: number | null, nonfinite: number | undefined): string {
  return value === null && nonfinite ? 'not finite' : figure(value);
}

export function percent(share: number | null): string {
  if (share === null) return '–';
  // 99.999 % must not read as all of them.
  const value = share * 100;
  return value < 100 && value > 99.9
    ? `${(Math.floor(value * 1000) / 1000).toFixed(3)}\u00a0%`
    : `${figure(value)}\u00a0%`;
}

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

export function dims(values: number[] | null): string {
  if (values === null) return '–';
  return values.length ? values.join('×') : 'scalar';
}

/** A word of a command line to be typed again, quoted for a POSIX shell when it must be. */
export function shellWord(word: string): string {
  if (/^[A-Za-z0-9_./=:,+@%-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
