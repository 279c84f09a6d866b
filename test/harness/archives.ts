import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import yauzl from 'yauzl';
import { startGdprRequest } from '../../activities/start-gdpr.ts';
import { write } from '../../store/database.ts';
import type { GdprPerson, GdprRequest } from '../../store/gdpr/request-record.ts';
import { findGdprRequestById, insertGdprRequest, listGdprPeople, type NewGdprRequest } from '../../store/gdpr/requests.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait.ts';
import type { World } from './world.ts';

/** Asks for the data of users, as the API does. */
export async function askForAccess(
  stack: Stack, { entity, user }: World, userIds: string[], more: Partial<NewGdprRequest> = {},
): Promise<GdprRequest> {
  const request = await write(stack.store.db, (tx) => insertGdprRequest(tx, entity.id, {
    type: 'access', source: 'api', appId: null, requester: { kind: 'user', id: user.id }, skipEmail: true, emails: [], state: 'accepted',
    people: userIds.map((userId) => ({ userId, deviceId: null })), ...more,
  }));
  await startGdprRequest(stack.temporal, { entityId: entity.id, runId: request.id, identifier: request.identifier }, 'access');
  return request;
}

/** Waits until the request is treated; its people, in order. */
export async function accessEnded({ store: { db } }: Stack, { entityId, id }: GdprRequest, withinMs = 60_000): Promise<GdprPerson[]> {
  await waitFor('the archives', async () => (await findGdprRequestById(db, entityId, id))?.state === 'treated', withinMs);
  return listGdprPeople(db, entityId, id);
}

export type Entries = Record<'README.txt' | 'data.json' | 'index.html', Buffer>;

/** The files of an archive; its checksum is the one that was recorded. */
export async function readArchive({ store: { files } }: Stack, { archive }: GdprPerson): Promise<Entries> {
  const bytes = await buffer(files.read(archive!.key));
  if (!createHash('sha256').update(bytes).digest().equals(archive!.sha256)) throw new Error('the archive has another checksum');
  return readZip(bytes);
}

/** What other programs than ours make of it. */
async function readZip(bytes: Buffer): Promise<Entries> {
  const zip = await promisify<Buffer, yauzl.Options, yauzl.ZipFile>(yauzl.fromBuffer)(bytes, { lazyEntries: true });
  const open = promisify<yauzl.Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
  const found: Record<string, Buffer> = {};
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: yauzl.Entry) => {
      void open(entry).then(buffer).then((content) => {
        found[entry.fileName] = content;
        zip.readEntry();
      }).catch(reject);
    });
    zip.once('end', resolve).once('error', reject);
    zip.readEntry();
  });
  return found as Entries;
}

/** `data.json` as it reads. */
export type ArchiveData = {
  version: number; request: string; person: number; company: string; made_at: string; known_by: { kind: string; id: string }[];
  data: Record<string, Record<string, unknown>[]>; counts: Record<string, number>;
};

export function dataOf(entries: Entries): ArchiveData {
  return JSON.parse(entries['data.json'].toString()) as ArchiveData;
}
