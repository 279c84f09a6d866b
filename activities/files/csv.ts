import { stringify } from 'csv-stringify/sync';
import type { Cell } from '../../domain/files/cell.ts';
import type { CsvPiece } from '../../domain/files/csv-records.ts';

const OPTIONS = { record_delimiter: 'windows', quote_record_delimiter: true, cast: { boolean: String } } as const;

/** RFC 4180 in UTF-8, with the columns' names first. A value with either half of a line's end is quoted. */
export function writeCsv(delimiter: ',' | ';' = ',') {
  return async function* csv(
    columns: readonly string[],
    batches: AsyncIterable<readonly (readonly Cell[])[]>,
  ): AsyncGenerator<Uint8Array> {
    const options = { ...OPTIONS, delimiter };
    yield Buffer.from(stringify([[...columns]], options));
    for await (const rows of batches) if (rows.length > 0) yield Buffer.from(stringify(rows as Cell[][], options));
  };
}

/** The same of rows that are CSV already. */
export async function* completeCsv(
  columns: readonly string[],
  pieces: AsyncIterable<CsvPiece>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(stringify([[...columns]], OPTIONS));
  for await (const { bytes } of pieces) yield bytes;
}
