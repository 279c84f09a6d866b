import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import type { GdprPerson, GdprRequest } from '../../../store/gdpr/request-record.ts';
import { listGdprPeople } from '../../../store/gdpr/requests.ts';
import type { Stack } from '../core/stack.ts';
import { readZip } from '../core/zip-entries.ts';
import { requestTreated } from './gdpr.ts';

/** Waits until the request is treated; its people, in order. */
export async function accessEnded({ store }: Stack, request: GdprRequest): Promise<GdprPerson[]> {
  await requestTreated(store, request);
  return listGdprPeople(store.db, request.entityId, request.id);
}

export type Entries = Record<'README.txt' | 'data.json' | 'index.html', Buffer> & Record<string, Buffer>;

/** The files of an archive; its checksum is the one that was recorded. */
export async function readArchive({ store: { files } }: Stack, { archive }: GdprPerson): Promise<Entries> {
  const bytes = await buffer(files.read(archive!.key));
  if (!createHash('sha256').update(bytes).digest().equals(archive!.sha256))
    throw new Error('the archive has another checksum');
  const { entries } = await readZip(bytes);
  return Object.fromEntries(entries.map(({ name, content }) => [name, content])) as Entries;
}

/** `data.json` as it reads. */
export type ArchiveData = {
  version: number;
  request: string;
  person: number;
  company: string;
  made_at: string;
  known_by: { kind: string; id: string }[];
  data: Record<string, Record<string, unknown>[]>;
  counts: Record<string, number>;
};

export function dataOf(entries: Entries): ArchiveData {
  return JSON.parse(entries['data.json'].toString()) as ArchiveData;
}

/** The records of one of its tables, by a parser that is none of ours. */
export function csvOf(entries: Entries, table: string): Record<string, string>[] {
  return parse(entries[`csv/${table}.csv`]!, { columns: true });
}
