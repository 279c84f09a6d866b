/** A column that is printed before all of its cells are known, and so has a width of its own, in characters. */
export type Column = { head: string; width: number };

/** Columns of text, each as wide as its longest cell. */
export function table(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd();
  const [headLine, ...lines] = cells.map(line);
  return [headLine, rule(widths), ...lines].join('\n');
}

/** The head of a table whose rows are printed as they come. */
export function fixedHead(columns: Column[]): string {
  return [fixedRow(columns, columns.map(({ head }) => head)), rule(columns.map(({ width }) => width))].join('\n');
}

/** One of its rows: what is longer than its column is cut, but for the last column's. */
export function fixedRow(columns: Column[], row: string[]): string {
  const cells = row.map((cell, at) => {
    const last = at === row.length - 1;
    return last ? printable(cell) : fit(printable(cell), columns[at]!.width);
  });
  return cells.join('  ').trimEnd();
}

function rule(widths: number[]): string {
  return widths.map((width) => '─'.repeat(width)).join('  ');
}

function fit(cell: string, width: number): string {
  const characters = [...cell];
  if (characters.length > width) return `${characters.slice(0, width - 1).join('')}…`;
  return cell + ' '.repeat(width - characters.length);
}

/** What stands in a file may hold line ends, and escape sequences that a terminal obeys. */
export function printable(cell: string): string {
  return cell.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}
