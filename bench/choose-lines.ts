import type { Line, Size } from './line.ts';

/**
 * Returns the lines that `--only` asks for, in the order of `lines`; by default all. A value is a key, the whole name
 * of a figure, or several of these with commas between. Throws for any other, such as a part of a name, which could
 * start long work by mistake.
 */
export function chooseLines(lines: readonly Line[], only: readonly string[], size: Size): readonly Line[] {
  if (only.length === 0) return lines;
  const find = (wanted: string) =>
    lines.find(({ key, titles }) => [key, ...titles('full'), ...titles('quick')].includes(wanted));
  // Names contain commas, so a value is tried as a whole first.
  const wanted = only.flatMap((value) => (find(value) ? [value] : value.split(',').map((part) => part.trim())));
  const chosen = new Set(
    wanted.map((one) => {
      const line = find(one);
      if (!line) throw new Error(`--only: there is no line "${one}"; these are there:\n${list(lines, size)}`);
      return line;
    }),
  );
  return lines.filter((line) => chosen.has(line));
}

const KEY_WIDTH = 14;

/** Lists each key with the names of its figures. */
function list(lines: readonly Line[], size: Size): string {
  const indent = `\n${' '.repeat(KEY_WIDTH + 2)}`;
  return lines.map(({ key, titles }) => `  ${key.padEnd(KEY_WIDTH)}${titles(size).join(indent)}`).join('\n');
}
