import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CsvRecords } from '../../../domain/files/csv-records.ts';

const value = fc.oneof(fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', 'é', '\u{1f600}') }), fc.string());

it('ends records with CR and LF and counts them, wherever the pieces are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value)), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (rows, sizes) => {
      const text = Buffer.from(stringify(rows, { quote_record_delimiter: true }));
      const records = new CsvRecords();
      const ended: Buffer[] = [];
      let count = 0;
      for (let from = 0; from < text.length;) {
        const size = sizes.next().value!;
        const piece = records.end(text.subarray(from, from + size));
        ended.push(piece.bytes);
        count += piece.rows;
        from += size;
      }
      expect(String(Buffer.concat(ended))).toBe(
        stringify(rows, { record_delimiter: 'windows', quote_record_delimiter: true }),
      );
      expect(count).toBe(rows.length);
    }),
  );
});
