import { describe, expect, it } from 'vitest';
import {
  type BucketFile,
  isMark,
  behind,
  FIRST_PASS,
  isDue,
  type Pass,
  settled,
  unstuck,
} from '../../../connectors/s3/s3.ts';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-06-01T12:00:00Z');

const file = (key: string, modifiedMs: number, etag = '"1"'): BucketFile => ({ key, etag, modifiedMs });
const many = (count: number, modifiedMs: number) =>
  Array.from({ length: count }, (_, nth) => file(`many/${nth}`, modifiedMs));

/** What a pass over these files takes, and what the next one begins with. */
function run(pass: Pass, files: BucketFile[], now = NOW): { taken: string[]; pass: Pass } {
  const due = files.filter((one) => isDue(pass, one));
  const after = due.reduce((state, one) => behind(state, one), { ...pass, isDone: false });
  return { taken: due.map(({ key }) => key), pass: settled(after, now) };
}

describe('the files that are due', () => {
  it('are new ones, changed ones, and late ones of up to a day', () => {
    const first = run(FIRST_PASS, [file('old', NOW - 48 * HOUR), file('new', NOW)]);
    expect(first.taken).toEqual(['old', 'new']);
    const again = [
      file('old', NOW - 48 * HOUR),
      file('new', NOW),
      file('new', NOW, '"2"'),
      file('late', NOW - 24 * HOUR),
      file('too late', NOW - 24 * HOUR - 1),
      file('other', NOW),
    ];
    const second = run(first.pass, again);
    expect(second.taken).toEqual(['new', 'late', 'other']);
    expect(run(second.pass, again.toSpliced(1, 1)).taken).toEqual([]);
  });

  it('are none twice, though one pass has more of them than are remembered', () => {
    const files = [...many(1_500, NOW - 2 * HOUR), file('last', NOW)];
    const first = run(FIRST_PASS, files);
    expect(first.taken).toHaveLength(1_501);
    expect(first.pass.done.length).toBeLessThanOrEqual(1_000);
    expect(run(first.pass, [...files, file('next', NOW)]).taken).toEqual(['next']);
  });

  it('are rather taken twice than lost, while more of the same second may come', () => {
    const files = many(1_500, NOW);
    const first = run(FIRST_PASS, files);
    const second = run(first.pass, [...files, file('next', NOW)]);
    expect(second.taken).toContain('next');
    expect(second.taken).toHaveLength(501);
    // Once no more can come, they are left alone.
    const third = run(second.pass, files, NOW + 2 * HOUR);
    expect(run(third.pass, files, NOW + 2 * HOUR).taken).toEqual([]);
  });

  it('are found behind files that are dated ahead, of which those that are remembered come once', () => {
    const ahead = many(1_200, NOW + 25 * HOUR);
    const first = run(FIRST_PASS, [...ahead, file('old', NOW - 48 * HOUR)]);
    expect(first.taken).toHaveLength(1_201);
    const second = run(first.pass, [...ahead, file('old', NOW - 48 * HOUR), file('new', NOW)]);
    expect(second.taken).toContain('new');
    const stuck = { ...first.pass, since: NOW + 25 * HOUR };
    expect(run(unstuck(stuck, NOW), [file('new', NOW)]).taken).toEqual(['new']);
  });

  it('are the same after a pass in which none was', () => {
    const { pass } = run(FIRST_PASS, [file('a', NOW)]);
    expect(run(pass, [file('a', NOW)]).pass).toEqual(pass);
    expect(run(run(FIRST_PASS, []).pass, [file('a', 0)]).taken).toEqual(['a']);
  });
});

it('files under a prefix are read without the marks that tools leave there', () => {
  const marks = [
    '_SUCCESS',
    '_delta_log/0.json',
    'a/_started_1',
    'a/.part-0.csv.crc',
    '.DS_Store',
    'b.csv.crc',
    'day=1/_committed_2',
  ];
  const files = ['a.csv', 'a_b.csv', '_day=1/a.csv', 'a/b.c/d.csv', 'a._b'];
  for (const folder of ['', 'people/']) {
    expect([...marks, ...files].filter((key) => isMark(`${folder}${key}`, folder))).toEqual(marks);
  }
  expect(isMark('people/_in/a.csv', 'people/_in/')).toBe(false);
  expect(isMark('people/_in/a.csv', 'people/_i')).toBe(false);
});
