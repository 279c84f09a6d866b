import { expect, test } from 'vitest';
import { regexpsIn } from '../../checks/regexps.ts';

const found = (...lines: string[]) =>
  regexpsIn('domain/a.ts', lines.join('\n')).map(({ line, source, flags }) => `${line} /${source}/${flags}`);

test('literals are found wherever code has them, and nowhere else', () => {
  expect(
    found(
      'const type: Record<string, RegExp> = { a: /a+/g };',
      '// not /b/, nor',
      "const text = '/c/', half = 1 / 2 / 3;",
      'export const has = (text: string) => `${text.replace(/d\\/[/]/u, "")}`;',
    ),
  ).toEqual(['1 /a+/g', '4 /d\\/[/]/u']);
});

test('what RegExp is given is found where the file knows all of its text', () => {
  expect(
    found(
      'const DIGITS = String.raw`\\d+`, FLAGS = "u";',
      'new RegExp("a\\\\s"); RegExp(`^${DIGITS}$`, FLAGS);',
      'const of = (name: string) => new RegExp(`^${name}$`);',
      'const copy = new RegExp(/b/g, "u");',
    ),
  ).toEqual(['2 /a\\s/', '2 /^\\d+$/u', '4 /b/g']);
});
