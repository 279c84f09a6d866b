import { Buffer } from 'node:buffer';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Delimiter, DELIMITERS } from '../../../domain/csv/csv-bytes.ts';
import { parseRun, type ParsedRecord } from '../../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../../domain/csv/csv-splitter.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const OPTIONS = {
  record_delimiter: ['\n', '\r\n'],
  relax_column_count: true,
  skip_empty_lines: true,
};

function parseFile(file: string, maxRunBytes = 64 * 1024, delimiter: Delimiter = ','): ParsedRecord[] {
  const splitter = createCsvSplitter({ maxRunBytes, delimiter });
  return [...splitter.push(Buffer.from(file)), ...splitter.end()].flatMap((piece) => {
    if (piece.kind === 'bad') throw new Error(`the file has a bad record: ${piece.reason}`);
    const records = parseRun(piece, delimiter);
    expect(records).toHaveLength(piece.records);
    return records;
  });
}

const text = fc.string({ unit: fc.constantFrom('a', 'b ', 'é', '😀', ';', '\r', "'", '\t'), maxLength: 20 });
const quotedText = fc
  .string({ unit: fc.constantFrom('a', 'é', ',', '""', '\n', '\r\n'), maxLength: 10 })
  .map((inner) => `"${inner}"`);
const record = fc
  .oneof(
    fc.array(text, { minLength: 1, maxLength: 5 }),
    fc.array(fc.oneof(text, quotedText), { minLength: 1, maxLength: 5 }),
  )
  .map((fields) => fields.join(','));
const lineEnd = fc.constantFrom('\n', '\r\n', '\n\n');

describe('parsing a run of records', () => {
  test('agrees with csv-parse over the whole file, with and without quotes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(record, lineEnd)), fc.integer({ min: 1, max: 200 }), (lines, runBytes) => {
        const file = lines.flat().join('');
        expect(parseFile(file, runBytes)).toEqual(parse(file, OPTIONS));
      }),
      { numRuns: sampledRuns(2000) },
    );
  });

  test.for(DELIMITERS)('agrees with csv-parse where %j stands between fields', (delimiter) => {
    const plain = fc.string({
      unit: fc.constantFrom('a', 'é', ...DELIMITERS.filter((other) => other !== delimiter)),
      maxLength: 10,
    });
    const quoted = fc
      .string({ unit: fc.constantFrom('a', delimiter, ',', '""', '\n', '\r\n'), maxLength: 10 })
      .map((inner) => `"${inner}"`);
    const records = fc.array(fc.tuple(fc.array(fc.oneof(plain, quoted), { minLength: 1, maxLength: 5 }), lineEnd));
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 200 }), (lines, runBytes) => {
        const file = lines.map(([fields, end]) => `${fields.join(delimiter)}${end}`).join('');
        expect(parseFile(file, runBytes, delimiter)).toEqual(parse(file, { ...OPTIONS, delimiter }));
      }),
      { numRuns: sampledRuns(500) },
    );
  });

  test('fails the records that csv-parse refuses, each alone, and keeps the order', () => {
    const broken = fc.constantFrom('a"b,c', '"a"b,c', 'x,"a" ', '""a', 'a,b"');
    const mixed = fc.oneof(
      record.map((line) => ({ line, sound: true })),
      broken.map((line) => ({ line, sound: false })),
    );
    fc.assert(
      fc.property(fc.array(mixed), (records) => {
        const written = records.filter(({ line }) => line !== '' && line !== '\r');
        const parsed = parseFile(written.map(({ line }) => `${line}\n`).join(''));
        expect(parsed).toEqual(
          written.map(({ line, sound }) =>
            sound
              ? parse(`${line}\n`, OPTIONS)[0]
              : { kind: 'failed', errorType: 'PARSING_FAILED', message: expect.stringContaining('quote') },
          ),
        );
      }),
      { numRuns: sampledRuns(1000) },
    );
  });

  test('takes linear time when every record of a run is broken', () => {
    const parsed = parseFile('a"\n'.repeat(20_000));
    expect(parsed).toHaveLength(20_000);
    expect(parsed.every((outcome) => !Array.isArray(outcome))).toBe(true);
  });
});
