import type { Cell } from '../../domain/files/cell.ts';
import type { CsvPiece } from '../../domain/files/csv-records.ts';
import type { Database } from '../core/database.ts';

/** What a file holds. The query is plain JSON: dates are ISO texts, apps are ids. */
export type FileSource<Query> = {
  /** All names that the file's first row may have, in their order. */
  columns: readonly string[];
  /** Of them, those that are numbers in a sheet. */
  numbers: readonly string[];
  /** The names in the file's first row, where a query selects some. */
  columnsOf?(query: Query): readonly string[];
  /** Rows in order, in batches of bounded size. */
  rows(db: Database, entityId: number, query: Query): AsyncIterable<readonly (readonly Cell[])[]>;
  /** The same rows as a CSV file has them after its first line, where Postgres writes them: several times as fast. */
  csv?(db: Database, entityId: number, query: Query): AsyncIterable<CsvPiece>;
  /** Of CSV; by default a comma. */
  delimiter?: ';';
};
