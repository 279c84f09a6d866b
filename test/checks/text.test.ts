import { describe, expect, test } from 'vitest';
import { findInText } from '../../checks/text.ts';

const rulesIn = (file: string, content: string) => findInText(file, content).map(({ rule, line }) => `${line} ${rule}`);

describe('a path of one machine', () => {
  test.each(['/root/x', '/home/ann/x', '/Users/ann/x', '/tmp/x', '"/work/x"', 'in `/tmp`'])(
    'is found in %s',
    (path) => {
      expect(rulesIn('runtime/a.ts', `const a = 1;\nplace(${path})`)).toEqual(['2 machine-path']);
    },
  );

  test.each(['https://a.org/home/x/y', '/api/work/1', 'serve/work/x', '~/work/x', './tmp/x', '/homepage/', '/worker/'])(
    'is not %s',
    (path) => {
      expect(rulesIn('runtime/a.ts', path)).toEqual([]);
    },
  );

  test('may stand in a test', () => {
    expect(rulesIn('test/runtime/a.test.ts', '/tmp/x')).toEqual([]);
  });
});

test('a line of 160 characters is not too long, whatever the characters, and a comment of 120', () => {
  expect(rulesIn('store/a.ts', '😀'.repeat(160))).toEqual([]);
  expect(rulesIn('store/a.ts', 'a'.repeat(161))).toEqual(['1 line-length']);
  expect(rulesIn('README.md', 'a'.repeat(200))).toEqual([]);
  for (const begin of ['// ', '  /** ', '   * ']) {
    expect(rulesIn('store/a.ts', begin + 'a'.repeat(120 - begin.length))).toEqual([]);
    expect(rulesIn('store/a.ts', begin + 'a'.repeat(121 - begin.length))).toEqual(['1 comment-length']);
  }
});

test('the clock is not read in domain', () => {
  expect(rulesIn('domain/a.ts', 'new Date()')).toEqual(['1 clock']);
  expect(rulesIn('domain/a.ts', 'new Date(now)')).toEqual([]);
  expect(rulesIn('runtime/a.ts', 'new Date()')).toEqual([]);
});

test('a bare npx, which may ask the public registry, is found in docs, hints and mails', () => {
  for (const file of ['docs/users.md', 'README.md', 'cli/accounts/users.ts', 'domain/imports/import-mail.ts']) {
    expect(rulesIn(file, 'npx millrace users')).toEqual(['1 bare-npx']);
    expect(rulesIn(file, 'npx --no-install millrace users')).toEqual([]);
  }
});
