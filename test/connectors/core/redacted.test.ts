import { expect, test } from 'vitest';
import { redacted } from '../../../connectors/core/redacted.ts';

test('what a connector quotes of a secret is struck out, however deep it lies', () => {
  const secrets = { config: { token: 'abcd1234', others: ['abcd1234-longer'] }, port: 5432, pin: 'abc' };
  expect(redacted('abcd1234 is not abcd1234-longer at 5432, abc', secrets)).toBe('*** is not *** at 5432, abc');
  expect(redacted('nothing of it', {})).toBe('nothing of it');
});
