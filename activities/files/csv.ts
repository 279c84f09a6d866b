import { stringify } from 'csv-stringify/sync';
import type { Cell } from '../../domain/files/cell.ts';

/** RFC 4180 in UTF-8, with the columns' names first. */
export function writeCsv(delimiter: ',' | ';' = ',') {
  return async function* csv(columns: readonly string[], batches: AsyncIterable<readonly (readonly Cell[])[]>): AsyncGenerator<Uint8Array> {
    const options = { delimiter, record_delimiter: 'windows', cast: { boolean: String } } as const;
    yield Buffer.from(stringify([[...columns]], options));
    for await (const rows of batches) if (rows.length > 0) yield Buffer.from(stringify(rows as Cell[][], options));
  };
}
