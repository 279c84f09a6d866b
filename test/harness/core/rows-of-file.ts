import type { Cell } from '../../../domain/files/cell.ts';
import { findFileJob } from '../../../store/files/file-jobs.ts';
import type { FileSource } from '../../../store/files/file-source.ts';
import { fileSources } from '../../../store/files/file-sources.ts';
import type { TestStore } from './database.ts';

/** What the file behind a link will hold, with its columns; no worker has to build it. */
export async function rowsOfFile({ db }: TestStore, entityId: number, link: string): Promise<Cell[][]> {
  const { kind, query } = (await findFileJob(db, entityId, /files\/(\w+)/.exec(link)![1]!))!;
  const source = fileSources[kind] as FileSource<unknown>;
  const rows: Cell[][] = [[...source.columns(query)]];
  for await (const batch of source.rows(db, entityId, query)) rows.push(...batch.map((row) => [...row]));
  return rows;
}
