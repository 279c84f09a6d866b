import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestHeadersError } from '../../../domain/core/request-headers.ts';

test('any other header is taken, with any visible ASCII value', () => {
  const ascii = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)) });
  const name = fc.stringMatching(/^X-[A-Za-z\d_-]{1,20}$/);
  fc.assert(
    fc.property(name, ascii, (header, value) => {
      expect(requestHeadersError({ [header]: value })).toBeUndefined();
    }),
  );
  expect(requestHeadersError({})).toBeUndefined();
  expect(requestHeadersError({ Authorization: 'Bearer a.b', Accept: 'text/csv', 'User-Agent': 'we' })).toBeUndefined();
  expect(requestHeadersError({ Cookie: 'a=b', Te2: 'x', ['__proto__']: 'x' })).toBeUndefined();
});

test.each([
  'Host',
  'host',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Upgrade',
  'TE',
  'Trailer',
  'Keep-Alive',
  'Expect',
  'Range',
  'If-Range',
  'Accept-Encoding',
  'Proxy-Authorization',
  'proxy-connection',
  'HTTP2-Settings',
])('%s is refused by its name', (name) => {
  expect(requestHeadersError({ Accept: '*/*', [name]: 'zqvalue' })).toMatch(`the header ${name}:`);
});

test('a value that would end its line, or not arrive as written, is refused and not quoted', () => {
  const bad = fc
    .integer({ min: 0, max: 0x2ff })
    .map((code) => String.fromCodePoint(code))
    .filter((character) => !/[\t\x20-\x7e]/.test(character));
  fc.assert(
    fc.property(bad, (character) => {
      const fault = requestHeadersError({ Authorization: `zqvalue${character}X-More: 1` });
      expect(fault).toMatch(/in the value of the header Authorization$/);
      expect(fault).not.toMatch(/zqvalue|X-More/);
    }),
  );
});

test.each(['', ' ', 'Authorization: zqvalue', 'X\r\nHost: zqvalue', 'X-Ä', 'x'.repeat(257)])(
  'the name %j is refused',
  (name) => {
    expect(requestHeadersError({ Accept: '*/*', [name]: 'x' })).toMatch(/that of header 2 /);
    expect(requestHeadersError({ Accept: '*/*', [name]: 'x' })).not.toMatch('zqvalue');
  },
);

test('a header stands once, whatever its capitals', () => {
  expect(requestHeadersError({ Authorization: 'a', authorization: 'b' })).toBe('has the header authorization twice');
});

test('headers are few and short', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'x']));
  expect(requestHeadersError(many(50))).toBeUndefined();
  expect(requestHeadersError(many(51))).toMatch('50');
  expect(requestHeadersError({ X: 'x'.repeat(8191) })).toBeUndefined();
  expect(requestHeadersError({ X: 'x'.repeat(8192) })).toMatch('8192');
});
