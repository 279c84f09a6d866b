import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { read, utils, type WorkBook } from 'xlsx';
import { writeXls } from '../../../activities/files/xls.ts';
import { writeXlsx } from '../../../activities/files/xlsx.ts';
import type { Cell } from '../../../domain/files/cell.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'sheets-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

type Writer = typeof writeXls;
const WRITERS: [string, Writer][] = [
  ['.xls', writeXls],
  ['.xlsx', writeXlsx],
];

async function* batchesOf(
  rows: readonly (readonly Cell[])[],
  size = 100,
): AsyncGenerator<readonly (readonly Cell[])[]> {
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size);
}

async function bytesOf(
  writer: Writer,
  columns: readonly string[],
  batches: AsyncIterable<readonly (readonly Cell[])[]>,
): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(writer(columns, batches, scratch)));
}

/** By a reader that is none of ours; formulas would come back as such. */
const readBook = (bytes: Buffer): WorkBook =>
  read(bytes, { type: 'buffer', cellFormula: true, cellText: false, cellHTML: false });

function cellsOf(book: WorkBook, columns: number): unknown[][][] {
  return book.SheetNames.map((name) => {
    const sheet = book.Sheets[name]!;
    const rows = utils.decode_range(sheet['!ref'] ?? 'A1').e.r + 1;
    return Array.from({ length: rows }, (_, r) =>
      Array.from({ length: columns }, (__, c) => {
        const cell = sheet[utils.encode_cell({ r, c })] as { t: string; v: unknown; f?: string } | undefined;
        expect(cell?.f).toBeUndefined();
        return cell?.v ?? null;
      }),
    );
  });
}

/** As a sheet shows it. */
const shown = (cell: Cell): unknown =>
  typeof cell === 'boolean' || (typeof cell === 'number' && !Number.isFinite(cell)) ? String(cell) : cell;

const codeUnits = fc
  .array(fc.integer({ min: 1, max: 0xffff }), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));
const longText = fc
  .tuple(fc.constantFrom('a', 'é', '語', '😀'), fc.integer({ min: 4000, max: 16_000 }))
  .map(([of, times]) => of.repeat(times));
const oddText = fc.constantFrom(
  '=1+1',
  '+1',
  '@SUM(A1)',
  "'",
  '_x0041_',
  '_x005F_x0041_',
  '_x0041\u0001',
  '<&>"',
  ' a ',
  'a\r\nb\tc',
  '12',
  'true',
  '',
);
const cell: fc.Arbitrary<Cell> = fc.oneof(
  fc.string(),
  codeUnits,
  oddText,
  longText,
  fc.double(),
  fc.integer(),
  fc.integer({ min: 2 ** 29 - 2, max: 2 ** 29 + 1 }),
  fc.boolean(),
  fc.constant(null),
);
const table = fc.integer({ min: 1, max: 6 }).chain((width) =>
  fc.record({
    columns: fc.constant(Array.from({ length: width }, (_, at) => `column ${at}`)),
    rows: fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 80 }),
  }),
);

describe.each(WRITERS)('a file of type %s', (ending, writer) => {
  it('gives any cells back to an independent reader', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, rows }) => {
        const book = readBook(await bytesOf(writer, columns, batchesOf(rows, 7)));
        const [sheet] = cellsOf(book, columns.length);
        const expected = [columns, ...rows.map((row) => row.map(shown))];
        // the reader leaves out empty rows at the end
        while (sheet!.length < expected.length) sheet!.push(columns.map(() => null));
        expect(sheet).toEqual(expected);
      }),
      { numRuns: sampledRuns(60) },
    );
  });

  it('holds the names of the columns where there are no rows', async () => {
    const book = readBook(await bytesOf(writer, ['id', 'date'], batchesOf([])));
    expect(cellsOf(book, 2)).toEqual([[['id', 'date']]]);
  });

  it('holds a text of 32,767 characters; a longer one is refused by its row and column', async () => {
    const text = (length: number) =>
      batchesOf([
        ['short', null],
        ['x', '語'.repeat(length)],
      ]);
    const book = readBook(await bytesOf(writer, ['id', 'detail'], text(32_767)));
    expect(cellsOf(book, 2)[0]![2]).toEqual(['x', '語'.repeat(32_767)]);
    await expect(bytesOf(writer, ['id', 'detail'], text(32_768))).rejects.toThrow(
      `Row 2, column detail: the text has 32,768 characters, and a cell of ${ending} holds 32,767: ask for .csv instead`,
    );
  });

  it('ends with the error of its source, and leaves nothing behind', async () => {
    async function* failing(): AsyncGenerator<Cell[][]> {
      yield [['a']];
      throw new Error('connection lost');
    }
    await expect(bytesOf(writer, ['id'], failing())).rejects.toThrow('connection lost');
    expect(await readdir(scratch)).toEqual([]);
  });

  it('ends its source where nobody reads on', async () => {
    let state = 'not read';
    async function* source(): AsyncGenerator<Cell[][]> {
      try {
        state = 'read';
        for (let row = 0; row < 200_000; row += 100) yield Array.from({ length: 100 }, (_, at) => [`row ${row + at}`]);
      } finally {
        state = 'closed';
      }
    }
    const pieces = writer(['id'], source(), scratch);
    while (state === 'not read') await pieces.next();
    await pieces.return(undefined);
    expect(state).toBe('closed');
    expect(await readdir(scratch)).toEqual([]);
  });
});

/** Rows of which the first, the last and each that begins a sheet hold something: the others cost nothing. */
async function* numberedRows(count: number): AsyncGenerator<Cell[][]> {
  for (let from = 0; from < count; from += 5000) {
    yield Array.from({ length: Math.min(5000, count - from) }, (_, at) => {
      const row = from + at + 1;
      return [row === 1 || row === count || row % 65_535 <= 1 ? row : null];
    });
  }
}

describe('an .xls file of many rows', () => {
  it.each([
    [65_534, [65_535]],
    [65_535, [65_536]],
    [65_536, [65_536, 2]],
    [131_071, [65_536, 65_536, 2]],
  ])('puts %i rows on sheets of 65,536 with the names of the columns', async (count, rowsOfSheets) => {
    const sheets = cellsOf(readBook(await bytesOf(writeXls, ['n'], numberedRows(count))), 1);
    expect(sheets.map((rows) => rows.length)).toEqual(rowsOfSheets);
    for (const [at, rows] of sheets.entries()) expect(rows.slice(0, 2)).toEqual([['n'], [at * 65_535 + 1]]);
    expect(sheets.at(-1)!.at(-1)).toEqual([count]);
  });

  it('has at most 16 sheets; more rows are refused with what to ask for', async () => {
    const book = read(await bytesOf(writeXls, ['n'], numberedRows(16 * 65_535)), { type: 'buffer', bookSheets: true });
    expect(book.SheetNames).toHaveLength(16);
    await expect(bytesOf(writeXls, ['n'], numberedRows(16 * 65_535 + 1))).rejects.toThrow(
      'There are more rows than .xls holds (1,048,560, on 16 sheets): ask for .csv instead',
    );
  });

  it('breaks texts wherever a record ends', async () => {
    for (const [character, from] of [
      ['a', 8190],
      ['語', 4080],
    ] as const) {
      for (let length = from; length < from + 40; length += 1) {
        const rows = [[character.repeat(length)], ['語é'], ['end'], [character.repeat(2 * length)], ['']];
        const [sheet] = cellsOf(readBook(await bytesOf(writeXls, ['n'], batchesOf(rows))), 1);
        expect(sheet).toEqual([['n'], ...rows]);
      }
    }
  });

  it('has at most 256 columns', async () => {
    const columns = Array.from({ length: 257 }, (_, at) => `c${at}`);
    await expect(bytesOf(writeXls, columns, batchesOf([]))).rejects.toThrow(
      'There are 257 columns, and .xls holds 256: ask for .csv instead',
    );
  });
});
