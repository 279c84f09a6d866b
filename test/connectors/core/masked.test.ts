import { expect, test } from 'vitest';
import { masked } from '../../../connectors/core/masked.ts';

test('what a connector quotes of a secret is struck out, however deep it lies', () => {
  const secrets = { config: { token: 'abcd1234', others: ['abcd1234-longer'] }, port: 5432, pin: 'abc' };
  expect(masked('abcd1234 is not abcd1234-longer at 5432, abc', secrets)).toBe('*** is not *** at 5432, abc');
  expect(masked('nothing of it', {})).toBe('nothing of it');
});
