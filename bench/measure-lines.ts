import type { BenchContext, Line } from './line.ts';
import type { Figure } from './report.ts';

/** Measures one line after another. Prints each figure as it comes, and what is left. */
export async function measureLines(
  lines: readonly Line[],
  context: BenchContext,
  say: (text: string) => void,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  const left = lines.map(({ key, titles }) => ({ key, names: new Set(titles(context.size)) }));
  say(stillToCome(left));
  for (const line of lines) {
    const { names } = left[0]!;
    for await (const figure of line.measure(context)) {
      if (!names.delete(figure.name))
        throw new Error(`${line.key} yields a figure that is not among its titles: ${figure.name}`);
      figures.push(figure);
      say(`${toText(figure)}\n${stillToCome(left)}`);
    }
    for (const name of names) say(`not measured: ${name}`);
    left.shift();
  }
  return figures;
}

type Left = { key: string; names: ReadonlySet<string> };

/** Lists the keys of the remaining lines, with their numbers of figures. */
function stillToCome(left: Left[]): string {
  const lines = left.filter(({ names }) => names.size > 0);
  const count = lines.reduce((sum, { names }) => sum + names.size, 0);
  if (count === 0) return '    nothing more to come';
  return `    ${count} to come: ${lines.map(({ key, names: { size } }) => (size === 1 ? key : `${key} (${size})`)).join(', ')}`;
}

function toText({ name, ours, against, ratio, goal, reached }: Figure): string {
  const measured = against === '–' ? ours : `${ours} against ${against}, ratio ${ratio}`;
  return `${name}: ${measured} (goal ${goal}, ${reached ? 'reached' : 'not reached'})`;
}
