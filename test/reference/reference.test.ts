import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, sections } from './sections.ts';

/** Why this shows nothing; null: it names a test that stands. */
function whyNot(shown: string): string | null {
  const [file, name] = [shown.slice(0, shown.indexOf(': ')), shown.slice(shown.indexOf(': ') + 2)];
  if (file === 'none') return null;
  let text: string;
  try {
    text = readFileSync(join(ROOT, file), 'utf8').replaceAll(String.raw`\'`, "'");
  } catch {
    return `no such file: ${shown}`;
  }
  const isThere = (part: string) => ["'", '`', '"'].some((quote) => text.includes(`${quote}${part}${quote}`));
  return name.split(' › ').every(isThere) ? null : `no test of this name: ${shown}`;
}

describe.each(sections)('$heading', ({ file, heading, sentences }) => {
  test('carries its heading as its name', () => {
    expect(basename(file, '.md')).toBe(
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-|-$/g, ''),
    );
  });

  test('names, for each sentence, tests that stand', () => {
    expect(
      sentences.filter(({ shown }) => shown.length === 0).map(({ says }) => says),
      'sentences without a test',
    ).toEqual([]);
    expect(sentences.flatMap(({ shown }) => shown.flatMap((one) => whyNot(one) ?? []))).toEqual([]);
    expect(sentences).not.toHaveLength(0);
  });
});
