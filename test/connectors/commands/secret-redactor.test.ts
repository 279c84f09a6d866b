import { expect, test } from 'vitest';
import { secretRedactor } from '../../../connectors/commands/secret-redactor.ts';

const mask = secretRedactor([{ password: 'Pl4nted-s3cret' }]);

test('a line loses its secrets, addresses of mail and what may be a part of a record', () => {
  expect(mask('a Pl4nted-s3cret of <bea@example.com>, bea@example.com: {"name": 1}')).toBe('a *** of <***>, *** …');
  expect(mask('@nobody and a@ b, x@y@z')).toBe('@nobody and a@ b, ***@z');
});

test('the longest line takes time by its length, whatever it holds', () => {
  const MIB = 1024 ** 2;
  for (const text of ['a'.repeat(4 * MIB), '[ '.repeat(2 * MIB), 'a@'.repeat(2 * MIB), '@'.repeat(4 * MIB), ' '.repeat(4 * MIB)]) {
    expect(mask(text).length).toBeLessThanOrEqual(4 * MIB);
  }
});
