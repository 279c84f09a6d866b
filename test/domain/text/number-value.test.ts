import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isKeptByDouble, readNumber } from '../../../domain/text/number-value.ts';

it.for([
  '0',
  '-0',
  '0.0',
  '1',
  '-1.50',
  '1e3',
  '1E+3',
  '100e-2',
  '0.1',
  '9007199254740992',
  '1.7976931348623157e308',
  '5e-324',
  '0e999',
])('a double keeps the digits of %s', (text) => {
  expect(isKeptByDouble(text)).toBe(true);
});

it.for(['9007199254740993', '0.12345678901234567890', '1e400', '1e-400', '-12345678901234567890.5'])(
  'a double does not keep those of %s',
  (text) => {
    expect(isKeptByDouble(text)).toBe(false);
  },
);

it('a double keeps what it writes itself, in any spelling', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(5), (number, zeros) => {
      expect(isKeptByDouble(JSON.stringify(number))).toBe(true);
      const [mantissa = '', exponent] = number.toExponential().split('e');
      const spelled = `${mantissa}${mantissa.includes('.') ? '' : '.0'}${'0'.repeat(zeros)}E${exponent}`;
      expect(isKeptByDouble(spelled)).toBe(true);
    }),
  );
});

it('a double keeps an integer if and only if JSON writes it again', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), (number) => {
      expect(isKeptByDouble(String(number))).toBe(BigInt(JSON.stringify(Number(number))) === number);
    }),
  );
});

it('zeros before an exponent do not count, and reading them takes no longer than reading other digits', () => {
  const zeros = '0'.repeat(200_000);
  expect(readNumber(`1e${zeros}1`)).toEqual({ ok: true, value: '10' });
  expect(readNumber(`1e-${zeros}1`)).toEqual({ ok: true, value: '0.1' });
  expect(readNumber(`0E${zeros}x`)).toMatchObject({ ok: false });
  expect(readNumber(`1e${'9'.repeat(200_000)}`)).toMatchObject({ ok: false });
});
