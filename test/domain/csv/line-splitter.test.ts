import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Line, LineSplitter } from '../../../domain/csv/line-splitter.ts';

const LIMIT = 8;

function split(bytes: Buffer, cuts: number[], options = {}): Line[] {
  const splitter = new LineSplitter({ maxLineBytes: LIMIT, ...options });
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  const chunks = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
  return [...chunks.flatMap((chunk) => [...splitter.push(chunk)]), ...splitter.end()];
}

const part = fc.constantFrom('a', 'bb', '\n', '\r', '\r\n', '\uFEFF', 'é', 'x'.repeat(LIMIT));
const texts = fc.array(part, { maxLength: 30 }).map((parts) => Buffer.from(parts.join('')));
const cuts = fc.array(fc.nat(100), { maxLength: 10 });

describe('lines', () => {
  it('are the same however the bytes come in', () => {
    fc.assert(
      fc.property(texts, cuts, (bytes, at) => {
        expect(split(bytes, at)).toEqual(split(bytes, []));
      }),
    );
  });

  it('hold all bytes, each at its place', () => {
    fc.assert(
      fc.property(texts, cuts, (bytes, at) => {
        const whole = bytes.toString('latin1').split('\n');
        const expected = whole.at(-1) === '' ? whole.slice(0, -1) : whole;
        const lines = split(bytes, at);
        expect(lines.map(({ line }) => line)).toEqual(expected.map((_, nth) => nth + 1));
        expect(
          lines.map(({ offset, endOffset }) => bytes.toString('latin1', offset, endOffset).replace(/\n$/, '')),
        ).toEqual(expected);
        expect(lines.map(({ isTooLong }) => isTooLong)).toEqual(
          expected.map((text) => text.replace(/\r$/, '').length > LIMIT),
        );
      }),
    );
  });

  it('can be read on behind each, with the same outcome', () => {
    fc.assert(
      fc.property(texts, cuts, (bytes, at) => {
        const lines = split(bytes, at);
        for (const [nth, { endOffset, endLine }] of lines.entries()) {
          expect(split(bytes.subarray(endOffset), at, { startOffset: endOffset, startLine: endLine })).toEqual(
            lines.slice(nth + 1),
          );
        }
      }),
    );
  });

  it('come without a BOM at the start of the file, and one that is too long as its beginning', () => {
    const long = 'x'.repeat(5_000);
    const lines = split(Buffer.from(`\uFEFFa\r\n\uFEFFb\n${long}`), [], { maxLineBytes: 4_999 });
    expect(lines.map(({ bytes }) => bytes.toString())).toEqual(['a', '\uFEFFb', long.slice(0, 2_048)]);
  });
});
