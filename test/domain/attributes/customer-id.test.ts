import fc from 'fast-check';
import { expect, test } from 'vitest';
import { customerIdError } from '../../../domain/attributes/customer-id.ts';

test('a customer id has 1 to 256 code points', () => {
  fc.assert(fc.property(fc.array(fc.constantFrom('a', '@', 'é', '😀'), { maxLength: 260 }), (characters) => {
    const isSound = characters.length >= 1 && characters.length <= 256;
    expect(customerIdError(characters.join('')) === undefined).toBe(isSound);
  }));
  expect(customerIdError('😀'.repeat(256))).toBeUndefined();
  expect(customerIdError('😀'.repeat(257))).toMatch('256');
  expect(customerIdError('')).toMatch('empty');
});

test('a customer id has no control characters and no half of a surrogate pair', () => {
  for (let code = 0; code <= 0x100; code += 1) {
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    expect(customerIdError(`u${String.fromCodePoint(code)}`) !== undefined).toBe(isControl);
  }
  expect(customerIdError('u\udc00')).toMatch('surrogate');
});
