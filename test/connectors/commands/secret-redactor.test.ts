import { expect, test } from 'vitest';
import { secretRedactor } from '../../../connectors/commands/command-settings.ts';

const mask = secretRedactor([{ password: 'Pl4nted-s3cret' }]);

test('a line loses its secrets, addresses of mail and what may be a part of a record', () => {
  expect(mask('a Pl4nted-s3cret of <bea@example.com>, bea@example.com: {"name": 1}')).toBe('a *** of <***>, *** …');
  expect(mask('@nobody and a@ b, x@y@z')).toBe('@nobody and a@ b, ***@z');
});

test('a count stays, also where it is the same as a setting; a number whose name says that it is secret goes', () => {
  const redact = secretRedactor([
    {
      page_size: 1000,
      limit: '250',
      account: 12_345_678,
      auth: { pin: 4711, codes: ['0815'] },
      api_key: 99,
      shipping: 31,
    },
  ]);
  expect(redact('Read 1000 records in 250 s, 31 left')).toBe('Read 1000 records in 250 s, 31 left');
  expect(redact('of 12345678 with 4711, 0815 and 99')).toBe('of *** with ***, *** and ***');
});

test('the longest line takes time by its length, whatever it holds', () => {
  const MIB = 1024 ** 2;
  for (const text of [
    'a'.repeat(4 * MIB),
    '[ '.repeat(2 * MIB),
    'a@'.repeat(2 * MIB),
    '@'.repeat(4 * MIB),
    ' '.repeat(4 * MIB),
  ]) {
    expect(mask(text).length).toBeLessThanOrEqual(4 * MIB);
  }
});
