/** Tables of text for the terminal. */
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/** A column of fixed width, since it is printed before all its cells are known. */
export type Column = { head: string; width: number };

const GAP = '  ';
/** Minimum width of a cut column; below it, each row becomes a list. */
const MIN_WIDTH = 6;
const MIN_LAST_WIDTH = 16;

/** Returns columns without empty ones. In a terminal long cells are cut, and those of the last column wrapped. */
export function table(head: string[], rows: string[][], width: number | null = null): string {
  const shown = head
    .map((_, column) => column)
    .filter((column) => rows.length === 0 || rows.some((row) => row[column] !== ''));
  const cells = [head, ...rows].map((row) => shown.map((column) => printable(row[column]!)));
  const [heads, ...lines] = cells as [string[], ...string[][]];
  const widths = fitted(
    heads.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column]!)))),
    width,
  );
  if (widths === null) return lines.map((row) => asList(heads, row, width!)).join('\n\n');
  return [layOut(widths, heads, width), rule(widths), ...lines.map((row) => layOut(widths, row, width))].join('\n');
}

/** Returns a value as the text of a cell: a list by its items, an object by its members, such as `a 1, b (c 2)`. */
export function sayValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return String(value as string | number | bigint | boolean);
  if (Array.isArray(value)) return value.map(sayWithin).join(', ');
  return Object.entries(value)
    .map(([name, member]) => `${name} ${sayWithin(member)}`)
    .join(', ');
}

function sayWithin(value: unknown): string {
  const said = sayValue(value);
  if (typeof value !== 'object' || value === null) return said;
  return said === '' ? 'none' : `(${said})`;
}

export function fixedHead(columns: Column[], width: number | null = null): string {
  const widths = fitted(
    columns.map((column) => column.width),
    width,
  );
  return widths === null
    ? ''
    : `${layOut(
        widths,
        columns.map(({ head }) => head),
        width,
      )}\n${rule(widths)}\n`;
}

/** Returns a row. Cuts cells longer than their column, except in the last column. */
export function fixedRow(columns: Column[], row: string[], width: number | null = null): string {
  const cells = row.map(printable);
  const widths = fitted(
    columns.map((column) => column.width),
    width,
  );
  return widths === null
    ? `${asList(
        columns.map(({ head }) => head),
        cells,
        width!,
      )}\n`
    : layOut(widths, cells, width);
}

/** Narrows the widest columns until all fit, the first column, which names the row, last. */
function fitted(widths: number[], width: number | null): number[] | null {
  const fit = [...widths];
  if (width === null) return fit;
  const least = fit.map((natural, column) => Math.min(natural, column === fit.length - 1 ? MIN_LAST_WIDTH : MIN_WIDTH));
  for (let excess = sum(fit) + GAP.length * (fit.length - 1) - width; excess > 0; excess -= 1) {
    const others = fit.map((_, column) => column).filter((column) => column > 0 && fit[column]! > least[column]!);
    const widest = others.toSorted((one, other) => fit[other]! - fit[one]!)[0] ?? (fit[0]! > least[0]! ? 0 : undefined);
    if (widest === undefined) return null;
    fit[widest]! -= 1;
  }
  return fit;
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

function layOut(widths: number[], row: string[], width: number | null): string {
  const last = row.length - 1;
  const first = row
    .slice(0, last)
    .map((cell, column) => fit(cell, widths[column]!))
    .join(GAP);
  const indent = row.length === 1 ? '' : ' '.repeat(stringWidth(first)) + GAP;
  const lines = width === null ? [row[last]!] : wrap(row[last]!, widths[last]!);
  return lines
    .map((line, at) => (at > 0 || last === 0 ? indent : first + GAP) + line)
    .map((line) => line.trimEnd())
    .join('\n');
}

function asList(heads: string[], row: string[], width: number): string {
  return row.flatMap((cell, column) => (cell === '' ? [] : wrap(`${heads[column]!}: ${cell}`, width))).join('\n');
}

function wrap(cell: string, width: number): string[] {
  return wrapAnsi(cell, width, { hard: true }).split('\n');
}

function rule(widths: number[]): string {
  return widths.map((width) => '─'.repeat(width)).join(GAP);
}

const graphemes = new Intl.Segmenter();

function fit(cell: string, width: number): string {
  if (stringWidth(cell) <= width) return cell + ' '.repeat(width - stringWidth(cell));
  let cut = '';
  for (const { segment } of graphemes.segment(cell)) {
    if (stringWidth(cut + segment) > width - 1) break;
    cut += segment;
  }
  return `${cut}…`.padEnd(cut.length + 1 + Math.max(0, width - 1 - stringWidth(cut)));
}

/** Replaces line ends and escape sequences that a file may contain. */
export function printable(cell: string): string {
  return cell.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}
