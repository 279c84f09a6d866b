import type { Cell } from '../../domain/files/cell.ts';
import type { CsvPiece } from '../../domain/files/csv-records.ts';
import type { Database } from '../core/database.ts';

/** Content of a kind of file. The query is plain JSON: dates are ISO texts, apps are ids. */
export type FileSource<Query> = {
  columns: readonly string[];
  numbers: readonly string[];
  columnsOf?(query: Query): readonly string[];
  rows(db: Database, entityId: number, query: Query): AsyncIterable<readonly (readonly Cell[])[]>;
  /** Yields the same rows as CSV that Postgres writes, which is several times as fast. */
  csv?(db: Database, entityId: number, query: Query): AsyncIterable<CsvPiece>;
  delimiter?: ';';
};
