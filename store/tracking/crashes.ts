/** Crashes, the kinds of errors of an app: counts them with calls, and bounds, lists and deletes them. */

import { ERASED } from '../../domain/core/erased.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';
import { type AppCall, timestamp } from './app-call.ts';

type Crash = {
  appId: number;
  fingerprint: string;
  title: string;
  occurrences: number;
  firstAt: number;
  lastAt: number;
};
type Found = Row<'crashes', 'id' | 'title'> & { ordinal: number };

type CountedCrash = Crash & { id: number };

/** Finds the crashes of calls, and inserts missing ones. `updateCrashCounts` adds the counts later. */
export async function findOrInsertCrashes(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: readonly AppCall[],
): Promise<Map<string, CountedCrash>> {
  const crashes = [...countCrashes(calls).values()];
  if (crashes.length === 0) return new Map();
  let found = await findCrashes(tx, entityId, crashes);
  const titled = new Set(found.filter(({ title }) => title !== '').map(({ ordinal }) => ordinal));
  await redactTitles(
    tx,
    secrets,
    entityId,
    crashes.filter((_, at) => !titled.has(at + 1)),
  );
  if (found.length < crashes.length) {
    const known = new Set(found.map(({ ordinal }) => ordinal));
    await insertCrashes(
      tx,
      entityId,
      crashes.filter((_, at) => !known.has(at + 1)),
    );
    found = await findCrashes(tx, entityId, crashes);
  }
  return new Map(
    found.map(({ id, ordinal }) => {
      const crash = crashes[ordinal - 1]!;
      return [keyOf(crash.appId, crash.fingerprint), { ...crash, id }];
    }),
  );
}

async function redactTitles(tx: Tx, secrets: Secrets, entityId: number, crashes: Crash[]): Promise<void> {
  const named = await findErasedTexts(
    tx,
    secrets,
    entityId,
    crashes.map(({ title }) => title),
    { byWords: true },
  );
  for (const index of named.keys()) crashes[index]!.title = ERASED;
}

/** Returns the crash of a call; null for no error, or if the crash was just deleted. */
export function crashOf(crashes: ReadonlyMap<string, CountedCrash>, { appId, event }: AppCall): number | null {
  return event?.fingerprint ? (crashes.get(keyOf(appId, event.fingerprint))?.id ?? null) : null;
}

/** Adds the counts of these calls. Call it last: all errors of a kind share a row, on which transactions wait. */
export async function updateCrashCounts(tx: Tx, entityId: number, crashes: Iterable<CountedCrash>): Promise<void> {
  const counted = [...crashes];
  if (counted.length === 0) return;
  // Locks in order of the key before any update.
  await tx.query({
    name: 'update-crash-counts',
    text: `UPDATE crashes c SET occurrences = c.occurrences + g.occurrences, title = coalesce(nullif(c.title, ''), g.title),
             first_seen_at = least(c.first_seen_at, g.first_at), last_seen_at = greatest(c.last_seen_at, g.last_at)
           FROM (
             SELECT c.entity_id, c.id, asked.occurrences, asked.title, asked.first_at, asked.last_at
             FROM (SELECT $1::integer AS entity_id, * FROM unnest($2::integer[], $3::integer[], $4::text[], $5::timestamptz[],
               $6::timestamptz[]) AS given (id, occurrences, title, first_at, last_at) ORDER BY id OFFSET 0) asked
             JOIN crashes c ON c.entity_id = asked.entity_id AND c.id = asked.id FOR UPDATE OF c) g
           WHERE c.entity_id = g.entity_id AND c.id = g.id`,
    values: [
      entityId,
      counted.map(({ id }) => id),
      counted.map(({ occurrences }) => occurrences),
      counted.map(({ title }) => title),
      counted.map(({ firstAt }) => timestamp(firstAt)),
      counted.map(({ lastAt }) => timestamp(lastAt)),
    ],
  });
}

function countCrashes(calls: readonly AppCall[]): Map<string, Crash> {
  const crashes = new Map<string, Crash>();
  for (const { appId, event, happenedAt } of calls) {
    if (!event?.fingerprint) continue;
    const { fingerprint, crashTitle } = event;
    const key = keyOf(appId, fingerprint);
    const crash = crashes.get(key) ?? {
      appId,
      fingerprint,
      title: '',
      occurrences: 0,
      firstAt: happenedAt,
      lastAt: happenedAt,
    };
    crash.title ||= crashTitle ?? '';
    crash.occurrences += 1;
    crash.firstAt = Math.min(crash.firstAt, happenedAt);
    crash.lastAt = Math.max(crash.lastAt, happenedAt);
    crashes.set(key, crash);
  }
  return crashes;
}

function keyOf(appId: number, fingerprint: string): string {
  return `${appId} ${fingerprint}`;
}

async function findCrashes(tx: Tx, entityId: number, crashes: Crash[]): Promise<Found[]> {
  const { rows } = await tx.query<Found>({
    name: 'find-crashes',
    text: `SELECT c.id, c.title, g.ordinal FROM (SELECT $1::integer AS entity_id, app_id, decode(fingerprint, 'hex') AS fingerprint, ordinal
             FROM unnest($2::integer[], $3::text[]) WITH ORDINALITY AS given (app_id, fingerprint, ordinal) OFFSET 0) g
           JOIN crashes c ON c.entity_id = g.entity_id AND c.app_id = g.app_id AND c.fingerprint = g.fingerprint`,
    values: [entityId, crashes.map(({ appId }) => appId), crashes.map(({ fingerprint }) => fingerprint)],
  });
  return rows;
}

async function insertCrashes(tx: Tx, entityId: number, crashes: Crash[]): Promise<void> {
  await tx.query(
    `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
     SELECT $1, app_id, identifier, decode(fingerprint, 'hex'), title, first_at, last_at, 0
     FROM unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[])
       AS given (app_id, identifier, fingerprint, title, first_at, last_at)
     ORDER BY app_id, fingerprint ON CONFLICT (entity_id, app_id, fingerprint) DO NOTHING`,
    [
      entityId,
      crashes.map(({ appId }) => appId),
      crashes.map(() => newIdentifier('crs')),
      crashes.map(({ fingerprint }) => fingerprint),
      crashes.map(({ title }) => title),
      crashes.map(({ firstAt }) => timestamp(firstAt)),
      crashes.map(({ lastAt }) => timestamp(lastAt)),
    ],
  );
}

const MAX_CRASHES = 10_000;

/** Errors of an app after which this process counts its crashes again. */
const ERRORS_A_COUNT = 1_000;

const errorsSince = new WeakMap<Database, Map<number, number>>();

/**
 * Deletes an app's rarest crashes beyond `most`, the oldest first; their errors stay. Runs before the transaction of
 * the calls, which must not lock others' rows. An app may exceed the limit until the next count.
 */
export async function deleteExcessCrashes(
  db: Database,
  entityId: number,
  calls: readonly AppCall[],
  { most = MAX_CRASHES, every = ERRORS_A_COUNT } = {},
): Promise<void> {
  const apps = errorsSince.get(db) ?? new Map<number, number>();
  errorsSince.set(db, apps);
  const errors = calls.filter(({ event }) => event?.fingerprint);
  for (const [appId, { length }] of Map.groupBy(errors, (call) => call.appId)) {
    const since = (apps.get(appId) ?? 0) + length;
    apps.set(appId, since < every ? since : 0);
    if (since >= every) await deleteBeyond(db, entityId, appId, most);
  }
}

async function deleteBeyond(db: Database, entityId: number, appId: number, most: number): Promise<void> {
  const {
    rows: [counted],
  } = await db.query<{ count: number }>('SELECT count(*) FROM crashes WHERE entity_id = $1 AND app_id = $2', [
    entityId,
    appId,
  ]);
  const excess = counted!.count - most;
  if (excess <= 0) return;
  // Uses the index crashes_by_occurrences.
  await write(db, (tx) =>
    tx.query(
      `DELETE FROM crashes WHERE entity_id = $1 AND id = ANY (ARRAY(
       SELECT id FROM crashes WHERE entity_id = $1 AND app_id = $2 ORDER BY occurrences, id LIMIT $3 FOR UPDATE SKIP LOCKED))`,
      [entityId, appId, excess],
    ),
  );
}

/** Deletes a crash. Its errors stay; the next such error inserts it anew. Returns false for an unknown crash. */
export async function deleteCrash(
  tx: Queryable,
  entityId: number,
  appId: number,
  identifier: string,
): Promise<boolean> {
  const { rowCount } = await tx.query('DELETE FROM crashes WHERE entity_id = $1 AND app_id = $2 AND identifier = $3', [
    entityId,
    appId,
    identifier,
  ]);
  return rowCount === 1;
}

type StoredCrash = Row<'crashes', 'identifier' | 'title' | 'firstSeenAt' | 'lastSeenAt' | 'occurrences'>;

export async function listCrashes(
  db: Queryable,
  entityId: number,
  appId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; crashes: StoredCrash[] }> {
  const {
    rows: [counted],
  } = await db.query<{ total: number }>('SELECT count(*) AS total FROM crashes WHERE entity_id = $1 AND app_id = $2', [
    entityId,
    appId,
  ]);
  const crashes = readRows<StoredCrash>(
    await db.query(
      `SELECT identifier, title, first_seen_at, last_seen_at, occurrences FROM crashes WHERE entity_id = $1 AND app_id = $2
     ORDER BY last_seen_at DESC, id DESC OFFSET $3 LIMIT $4`,
      [entityId, appId, offset, limit],
    ),
  );
  return { total: counted!.total, crashes };
}
