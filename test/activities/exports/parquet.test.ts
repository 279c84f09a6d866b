import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { type FileMetaData, parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { parquetOf } from '../../../activities/exports/type-files.ts';
import { exportColumns } from '../../../domain/exports/export-columns.ts';
import { EXPORT_DATA_TYPES, type ExportDataType } from '../../../domain/exports/export-data-type.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

/** Pieces that end anywhere, as those of a socket do. */
async function* inPieces(text: string, size = 1000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function fileOf(type: ExportDataType, csv: AsyncIterable<Uint8Array>): Promise<ArrayBuffer> {
  const bytes = Buffer.concat(await Array.fromAsync(parquetOf(type, csv)));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}

/** As COPY writes it: null is nothing, an empty text stands between quotes. */
const csvOf = (rows: readonly (string | null)[][]): string =>
  rows
    .map((row) =>
      row.map((value) => (value === null ? '' : value === '' ? '""' : stringify([[value]]).slice(0, -1))).join(','),
    )
    .join('\n') + (rows.length > 0 ? '\n' : '');

const groupsOf = (metadata: FileMetaData) => metadata.row_groups.map(({ num_rows: rows }) => Number(rows));

describe('a Parquet file', () => {
  it('gives each value back by the type of its column', async () => {
    const row: Record<string, string> = {
      device_id: 'd"1,\n\u{1F600}',
      opt_in: 'true',
      opt_out: 'false',
      number_of_sessions: '2147483647',
      total_session_duration: '9007199254740993',
      last_location_latitude: '-48.8566',
      first_opened_app_at: '2026-11-20T23:59:59.999Z',
      users: '',
      user_ids: '["a;b",""]',
    };
    const values = exportColumns('devices', 'parquet').map((name) => row[name] ?? null);
    const file = await fileOf('devices', inPieces(csvOf([values]), 7));
    const [read] = await parquetReadObjects({ file });
    expect(read).toEqual({
      ...Object.fromEntries(exportColumns('devices').map((name) => [name, null])),
      device_id: row.device_id,
      opt_in: true,
      opt_out: false,
      number_of_sessions: 2_147_483_647,
      total_session_duration: 9007199254740993n,
      last_location_latitude: -48.8566,
      first_opened_app_at: new Date('2026-11-20T23:59:59.999Z'),
      users: '',
      user_ids: ['a;b', ''],
    });
    const { children } = parquetSchema(parquetMetadata(file));
    const typeOf = (name: string) => children.find(({ element }) => element.name === name)!.element;
    expect(typeOf('updated_at')).toMatchObject({
      type: 'INT64',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    });
    expect(typeOf('number_of_crashes')).toMatchObject({ type: 'INT32', repetition_type: 'OPTIONAL' });
    expect(typeOf('total_session_duration')).toMatchObject({ type: 'INT64' });
  });

  it('has the columns of its type, in their order, also when they are empty or there is no row', async () => {
    for (const type of EXPORT_DATA_TYPES) {
      const columns = exportColumns(type, 'parquet');
      const empty = await fileOf(type, inPieces(csvOf([columns.map(() => null)])));
      const [row] = await parquetReadObjects({ file: empty });
      // hyparquet gives undefined for a list that is null.
      const read = Object.entries(row!).map(([name, value]) => [name, value ?? null]);
      expect(read).toEqual(columns.map((name) => [name, null]));
      const none = parquetMetadata(await fileOf(type, inPieces('')));
      expect(parquetSchema(none).children.map(({ element }) => element.name)).toEqual(columns);
      expect(none.num_rows).toBe(0n);
    }
  });

  it('keeps any text, and tells nothing from an empty one', async () => {
    const text = fc.option(
      fc.string({ unit: 'grapheme', maxLength: 12 }).filter((value) => !value.includes('\0')),
      { nil: null },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(text, text, text), { maxLength: 20 }),
        fc.integer({ min: 1, max: 40 }),
        async (rows, size) => {
          const read = await parquetReadObjects({ file: await fileOf('details', inPieces(csvOf(rows), size)) });
          expect(read.map(({ event_id, key, value }) => [event_id, key, value] as unknown)).toEqual(rows);
        },
      ),
      { numRuns: sampledRuns(60) },
    );
  });

  it('is handed on by row groups of 50,000 rows, before all of its rows were read', async () => {
    let given = 0;
    async function* rows(): AsyncGenerator<Buffer> {
      for (; given < 120_000; given += 1_000) yield Buffer.from(`${given},key,"some ""value"""\n`.repeat(1_000));
    }
    const pieces: Buffer[] = [];
    let givenAtFirst = 0;
    for await (const piece of parquetOf('details', rows())) {
      givenAtFirst ||= given;
      pieces.push(piece);
    }
    expect(givenAtFirst).toBeLessThan(60_000);
    const file = Uint8Array.from(Buffer.concat(pieces)).buffer;
    const metadata = parquetMetadata(file);
    expect(groupsOf(metadata)).toEqual([50_000, 50_000, 20_000]);
    const codecs = metadata.row_groups.flatMap(({ columns }) => columns.map((column) => column.meta_data!.codec));
    expect(new Set(codecs)).toEqual(new Set(['SNAPPY']));
    const read = await parquetReadObjects({ file, rowStart: 49_999, rowEnd: 50_001 });
    expect(read).toEqual([49_000, 50_000].map((id) => ({ event_id: String(id), key: 'key', value: 'some "value"' })));
  });

  it('has smaller row groups where its rows are large, so that no many of them are held', async () => {
    async function* rows(): AsyncGenerator<Buffer> {
      for (let row = 0; row < 500; row += 1) yield Buffer.from(`${row},key,${String(row).padStart(20_000, 'x')}\n`);
    }
    const groups = groupsOf(parquetMetadata(await fileOf('details', rows())));
    expect(groups.reduce((sum, size) => sum + size, 0)).toBe(500);
    expect(Math.max(...groups)).toBeLessThan(220);
  });

  it('fails with what its rows fail with, and with a line that is none', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('1,key,value\n');
      throw new Error('the server went away');
    }
    await expect(fileOf('details', broken())).rejects.toThrow('the server went away');
    await expect(fileOf('details', inPieces('1,key,value\n2,key\n'))).rejects.toThrow(/Invalid Record Length/);
  });

  it('that nobody reads on leaves its rows', async () => {
    let isLeft = false;
    async function* rows(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.from('1,key,value\n'.repeat(1_000));
      } finally {
        isLeft = true;
      }
    }
    for await (const piece of parquetOf('details', rows())) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => isLeft).toBe(true);
  });
});
