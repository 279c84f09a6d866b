import type { Cell } from '../../../domain/files/cell.ts';
import { findFileJob } from '../../../store/files/file-jobs.ts';
import type { FileSource } from '../../../store/files/file-source.ts';
import { fileSources } from '../../../store/files/file-sources.ts';
import type { TestStore } from './database.ts';

/** What the file behind a link will hold, with its columns; no worker has to build it. */
export async function rowsOfFile({ db }: TestStore, entityId: number, link: string): Promise<Cell[][]> {
  const { kind, query } = (await findFileJob(db, entityId, /files\/(\w+)/.exec(link)![1]!))!;
  const source = fileSources[kind] as FileSource<unknown>;
  const columns = source.columnsOf?.(query) ?? source.columns;
  const rows: Cell[][] = [[...columns]];
  for await (const batch of source.rows(db, entityId, query)) rows.push(...batch.map((row) => [...row]));
  for (const [at, column] of columns.entries()) {
    const types = new Set(
      rows
        .slice(1)
        .map((row) => row[at])
        .filter((cell) => cell !== null)
        .map((cell) => typeof cell),
    );
    const isNumber = types.size > 0 && source.numbers.includes(column);
    if (types.has('number') !== isNumber) throw new Error(`${column} of ${kind} is ${[...types].join()}`);
  }
  return rows;
}
