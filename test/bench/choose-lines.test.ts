import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { chooseLines } from '../../bench/choose-lines.ts';
import { LINES } from '../../bench/lines.ts';

const keysOf = (...only: string[]) => chooseLines(LINES, only, 'full').map(({ key }) => key);

describe('the lines that are measured', () => {
  test('are all, unless some are asked for', () => {
    expect(chooseLines(LINES, [], 'full')).toEqual(LINES);
  });

  test('are those asked for by key, once each and in their own order', () => {
    expect(keysOf('feed')).toEqual(['feed']);
    expect(keysOf('export, feed', 'import', 'feed')).toEqual(['import', 'feed', 'export']);
  });

  test('are those that bring a figure, asked for by its name with its commas, of either size', () => {
    expect(keysOf('CSV import, 1,000,000 rows shuffled, nothing changed')).toEqual(['import']);
    expect(keysOf('CSV import, 100,000 rows shuffled, nothing changed', 'start')).toEqual(['start', 'import']);
  });

  test('are none by a part of a name: the error lists all keys and names', () => {
    for (const wrong of ['nothing', 'Feed', '', 'feed,', 'feed,nothing'])
      expect(() => keysOf(wrong)).toThrow('there is no line');
    for (const { key, titles } of LINES) {
      expect(() => keysOf('nothing')).toThrow(new RegExp(`^  ${key} +${RegExp.escape(titles('full')[0]!)}$`, 'm'));
    }
  });

  test('have keys and names of their own', () => {
    for (const size of ['quick', 'full'] as const) {
      const names = LINES.flatMap(({ key, titles }) => [key, ...titles(size)]);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    }
  });
});

test('the table of figures in the docs names them as they are measured, in that order', () => {
  const table = readFileSync('docs/benchmarks.md', 'utf8')
    .split('\n')
    .filter((line) => /^\|.*\| (?:yes|no) \|$/.test(line));
  const names = table.map((row) => row.split(' | ')[0]!.slice(2));
  expect(names).not.toEqual([]);
  expect(names).toEqual(LINES.flatMap(({ titles }) => titles('full')).filter((title) => names.includes(title)));
});

test('npm run bench with a line that is not there ends at once, and says which are', async () => {
  const run = promisify(execFile)(process.execPath, ['bench/run.ts', '--only', 'no-such-line']);
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('  small-import  import of 10 rows'),
  });
});
