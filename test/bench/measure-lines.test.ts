import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openContext } from '../../bench/context.ts';
import type { Line } from '../../bench/line.ts';
import { measureLines } from '../../bench/measure-lines.ts';
import { atLeast, atMost } from '../../bench/report.ts';

const speed = atLeast('rows, first', 'rows/s', 1_500, 1_000, 1.2);
const again = atLeast('rows, again', 'rows/s', 900, 1_000, 1);
const memory = atMost('memory', 'MiB', 120, 400);

const line = (key: string, figures: (typeof speed)[], titles = figures.map(({ name }) => name)): Line => ({
  key,
  titles: () => titles,
  async *measure() {
    yield* figures;
  },
});

const measured = async (...lines: Line[]) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const context = openContext(lines, 'quick', folder);
  const said: string[] = [];
  const figures = await measureLines(lines, context, (text) => said.push(...text.split('\n')));
  await context.close();
  return { said, figures, made: await readdir(folder) };
};

test('each figure is printed as it comes, with what is still to come', async () => {
  const { said, figures } = await measured(line('rows', [speed, again]), line('memory', [memory]));
  expect(said).toEqual([
    '    3 to come: rows (2), memory',
    'rows, first: 1,500 rows/s against 1,000 rows/s, ratio 1.5 (goal ≥ 1.2, reached)',
    '    2 to come: rows, memory',
    'rows, again: 900 rows/s against 1,000 rows/s, ratio 0.9 (goal ≥ 1, not reached)',
    '    1 to come: memory',
    'memory: 120 MiB (goal ≤ 400 MiB, reached)',
    '    nothing more to come',
  ]);
  expect(figures).toEqual([speed, again, memory]);
});

test('a figure that could not be measured is named, and the others go on', async () => {
  const { said, figures } = await measured(
    line('rows', [speed], ['rows, first', 'rows, again']),
    line('memory', [memory]),
  );
  expect(said.slice(2)).toEqual([
    '    2 to come: rows, memory',
    'not measured: rows, again',
    'memory: 120 MiB (goal ≤ 400 MiB, reached)',
    '    nothing more to come',
  ]);
  expect(figures).toEqual([speed, memory]);
});

test('a figure that its line did not name is an error', async () => {
  const wrong = line('rows', [speed, again], ['rows, first']);
  await expect(measured(wrong)).rejects.toThrow('rows yields a figure that is not among its titles: rows, again');
});

test('nothing is started for lines that ask for nothing', async () => {
  const { made } = await measured(line('memory', [memory]));
  expect(made).toEqual([]);
});
