/** Event definitions: the events of an app, with their display names. Inserts new ones with calls, and bounds them. */

import type { LogType } from '../../domain/tracking/call.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedCalls, type AppCall } from './app-call.ts';

export type EventDefinition = Row<
  'event_definitions',
  'id' | 'logType' | 'name',
  {
    displayName: string | null;
    goal: boolean;
  }
> & { labels: string[] };

type EventKey = Pick<EventDefinition, 'logType' | 'name'>;

/** Maximum number of definitions of an app; new ones replace the rarest. */
export const MAX_DEFINITIONS = 10_000;
/** The share of definitions that may be replaced though they came on several days, if none came on one day only. */
const REPLACEABLE_SHARE = 0.01;

// Labels use label_targets_by_target and the primary key of labels.
const DEFINITIONS = `SELECT d.id, d.log_type, d.name, d.display_name, d.goal,
    ARRAY(SELECT l.name FROM label_targets t JOIN labels l ON l.entity_id = t.entity_id AND l.id = t.label_id
      WHERE t.entity_id = d.entity_id AND t.target_kind = 'event_definition' AND t.target_id = d.id ORDER BY l.name) AS labels
  FROM event_definitions d`;

async function listUndefined(
  db: Queryable,
  entityId: number,
  appId: number,
  keys: readonly EventKey[],
): Promise<EventKey[]> {
  return readRows<Row<'event_definitions', 'logType'> & { name: string }>(
    await db.query({
      name: 'find-missing-event-definitions',
      text: `SELECT g.log_type, g.name
           FROM (SELECT DISTINCT $1::integer AS entity_id, $2::integer AS app_id, log_type, name COLLATE "C" AS name
             FROM unnest($3::smallint[], $4::text[]) AS given (log_type, name) OFFSET 0) g
           LEFT JOIN event_definitions d
             ON d.entity_id = g.entity_id AND d.app_id = g.app_id AND d.log_type = g.log_type AND d.name = g.name
           WHERE d.id IS NULL`,
      values: [entityId, appId, keys.map(({ logType }) => logType), keys.map(({ name }) => name)],
    }),
  );
}

/**
 * Inserts missing definitions. In an app with `most`, each replaces the oldest of those seen on the fewest days: at
 * most `mayReplace`, none that staff named, labelled or made a key event. Returns how many it replaced. Locks the app
 * until the transaction ends, so that concurrent ones don't exceed the limit.
 */
export async function insertEventDefinitions(
  tx: Queryable,
  entityId: number,
  appId: number,
  keys: readonly EventKey[],
  most = MAX_DEFINITIONS,
  mayReplace = most,
): Promise<number> {
  if (keys.length === 0) return 0;
  const { rowCount: apps } = await tx.query('SELECT FROM apps WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE', [
    entityId,
    appId,
  ]);
  if (apps === 0) return 0;
  const missing = (await listUndefined(tx, entityId, appId, keys)).length;
  if (missing === 0) return 0;
  const excess = (await countRows(tx, OF_APP, [entityId, appId])) + missing - most;
  const replaced =
    excess <= 0
      ? 0
      : await deleteLeastSeen(tx, entityId, appId, keys, {
          limit: Math.min(excess, mayReplace),
          others: Math.ceil(most * REPLACEABLE_SHARE),
        });
  await tx.query(
    `INSERT INTO event_definitions (entity_id, app_id, log_type, name)
     SELECT $1, $2, log_type, name FROM (
       SELECT log_type, name COLLATE "C" AS name, min(ordinal) AS ordinal
       FROM unnest($3::smallint[], $4::text[]) WITH ORDINALITY AS given (log_type, name, ordinal) GROUP BY 1, 2) g
     WHERE NOT EXISTS (SELECT FROM event_definitions d
       WHERE d.entity_id = $1 AND d.app_id = $2 AND d.log_type = g.log_type AND d.name = g.name)
     ORDER BY ordinal
     LIMIT greatest(0, $5 - (SELECT count(*) FROM event_definitions WHERE entity_id = $1 AND app_id = $2))`,
    [entityId, appId, keys.map(({ logType }) => logType), keys.map(({ name }) => name), most],
  );
  return replaced;
}

/**
 * Deletes definitions that staff never touched, the rarest first: any seen on one day only, others only among the first
 * `others`, so a flood of names replaces only its own. Keeps `keys`, and any that staff touch at this moment.
 */
async function deleteLeastSeen(
  tx: Queryable,
  entityId: number,
  appId: number,
  keys: readonly EventKey[],
  { limit, others }: { limit: number; others: number },
): Promise<number> {
  const untouched = `SELECT d.id FROM event_definitions d
    WHERE d.entity_id = $1 AND d.app_id = $2 AND d.display_name IS NULL AND NOT d.goal AND NOT EXISTS (
      SELECT FROM label_targets t WHERE t.entity_id = $1 AND t.target_kind = 'event_definition' AND t.target_id = d.id)`;
  const leastFirst = 'ORDER BY d.days_seen, d.last_seen_on, d.id';
  const { rowCount } = await tx.query(
    `DELETE FROM event_definitions WHERE entity_id = $1 AND id = ANY (ARRAY(
       ${untouched} AND (d.log_type, d.name) NOT IN (SELECT log_type, name FROM unnest($5::smallint[], $6::text[]) AS g (log_type, name))
         AND (d.days_seen = 1 OR d.id = ANY (ARRAY(${untouched} ${leastFirst} LIMIT $4)))
       ${leastFirst} LIMIT $3 FOR UPDATE OF d SKIP LOCKED))`,
    [entityId, appId, limit, others, keys.map(({ logType }) => logType), keys.map(({ name }) => name)],
  );
  return rowCount!;
}

/** Counts today for these events, once a day (UTC). Skips rows that another transaction has locked. */
async function updateDaysSeen(
  tx: Queryable,
  entityId: number,
  appId: number,
  keys: readonly EventKey[],
): Promise<void> {
  await tx.query({
    name: 'update-days-seen',
    text: `UPDATE event_definitions SET days_seen = days_seen + 1, last_seen_on = (now() AT TIME ZONE 'UTC')::date
           WHERE entity_id = $1 AND id = ANY (ARRAY(
             SELECT d.id FROM unnest($3::smallint[], $4::text[]) AS given (log_type, name)
             JOIN event_definitions d
               ON d.entity_id = $1 AND d.app_id = $2 AND d.log_type = given.log_type AND d.name = given.name COLLATE "C"
             WHERE d.last_seen_on < (now() AT TIME ZONE 'UTC')::date
             ORDER BY d.id FOR UPDATE OF d SKIP LOCKED))`,
    values: [entityId, appId, keys.map(({ logType }) => logType), keys.map(({ name }) => name)],
  });
}

/** Deletes a definition with its labels; the event may define itself anew. Returns false if it doesn't exist. */
export async function deleteEventDefinition(
  tx: Queryable,
  entityId: number,
  appId: number,
  id: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'DELETE FROM event_definitions WHERE entity_id = $1 AND app_id = $2 AND id = $3',
    [entityId, appId, id],
  );
  if (rowCount === 0) return false;
  await tx.query(
    `DELETE FROM label_targets WHERE entity_id = $1 AND target_kind = 'event_definition' AND target_id = $2`,
    [entityId, id],
  );
  return true;
}

const OF_APP = 'FROM event_definitions WHERE entity_id = $1 AND app_id = $2';

export async function listEventDefinitions(
  db: Queryable,
  entityId: number,
  appId: number,
  { offset, limit }: PageRange,
): Promise<Page<EventDefinition>> {
  const items = readRows<EventDefinition>(
    await db.query(`${DEFINITIONS} WHERE d.entity_id = $1 AND d.app_id = $2 ORDER BY d.id OFFSET $3 LIMIT $4`, [
      entityId,
      appId,
      offset,
      limit,
    ]),
  );
  return { items, total: await countRows(db, OF_APP, [entityId, appId]) };
}

export async function findEventDefinition(
  db: Queryable,
  entityId: number,
  appId: number,
  id: number,
): Promise<EventDefinition | null> {
  return readRow<EventDefinition>(
    await db.query(`${DEFINITIONS} WHERE d.entity_id = $1 AND d.app_id = $2 AND d.id = $3`, [entityId, appId, id]),
  );
}

/** Changes the given members, and locks the definition. Returns false if the app has no such definition. */
export async function updateEventDefinition(
  tx: Queryable,
  entityId: number,
  appId: number,
  id: number,
  { displayName, goal }: { displayName?: string | null | undefined; goal?: boolean | undefined },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE event_definitions SET display_name = CASE WHEN $4 THEN $5 ELSE display_name END, goal = coalesce($6, goal)
     WHERE entity_id = $1 AND app_id = $2 AND id = $3`,
    [entityId, appId, id, displayName !== undefined, displayName ?? null, goal ?? null],
  );
  return rowCount === 1;
}

export async function listEventNames(
  db: Queryable,
  entityId: number,
  appId: number,
  logType: LogType | null,
): Promise<Set<string>> {
  const { rows } = await db.query<Row<'event_definitions', 'name'>>(
    `SELECT DISTINCT name FROM event_definitions WHERE entity_id = $1 AND app_id = $2 AND ($3::smallint IS NULL OR log_type = $3)
     ORDER BY name`,
    [entityId, appId, logType],
  );
  return new Set(rows.map(({ name }) => name));
}

/** Returns a function that names events of these apps: by the display name, else by the name. */
export async function listDisplayNames(
  db: Queryable,
  entityId: number,
  appIds: readonly number[],
): Promise<(event: { appId: number; logType: number; name: string }) => string> {
  const rows = readRows<Row<'event_definitions', never, { displayName: string }> & { key: string }>(
    await db.query(
      `SELECT app_id || '/' || log_type || '/' || name AS key, display_name FROM event_definitions
     WHERE entity_id = $1 AND app_id = ANY ($2) AND display_name IS NOT NULL`,
      [entityId, appIds],
    ),
  );
  const names = new Map(rows.map(({ key, displayName: shown }) => [key, shown]));
  return ({ appId, logType, name }) => names.get(`${appId}/${logType}/${name}`) ?? name;
}

/** Maximum number of known definitions of all apps; a name has at most 256 characters. */
const MAX_KNOWN = 10_000;

/** How long definitions stay known: meanwhile staff delete some, and new ones replace others. */
const KNOWN_FOR_MS = 5 * 60_000;
/** Maximum number of definitions of an app that this process replaces in that time. */
const MAX_REPLACED = 500;

type KnownDefinitions = { keys: Set<string>; until: number; mayReplace: number };

const seen = new WeakMap<Database, Map<number, KnownDefinitions>>();

/**
 * Inserts definitions of new events, and counts today for known ones, before the transaction of the calls, which others
 * would wait for. Calls of erased people define none. Repeated calls need no check: the first one defined their events.
 */
export async function insertNewDefinitions(
  db: Database,
  secrets: Secrets,
  entityId: number,
  calls: readonly AppCall[],
  most = MAX_DEFINITIONS,
): Promise<void> {
  const apps = seenIn(db);
  for (const [appId, own] of Map.groupBy(calls, (call) => call.appId)) {
    const known = knownOf(apps, appId);
    if (known.mayReplace === 0) continue;
    const keys = eventsIn(own, known.keys);
    if (keys.size === 0) continue;
    const { defined, replaced } = await write(
      db,
      async (tx) => {
        await updateDaysSeen(tx, entityId, appId, [...keys.values()]);
        if ((await listUndefined(tx, entityId, appId, [...keys.values()])).length === 0)
          return { defined: keys, replaced: 0 };
        // Only here, since hardly any batch has a new event.
        const living = await eventsOfLiving(tx, secrets, entityId, own);
        return {
          defined: living,
          replaced: await insertEventDefinitions(tx, entityId, appId, [...living.values()], most, known.mayReplace),
        };
      },
      { settings: LOOK_UP_BY_KEY },
    );
    known.mayReplace -= replaced;
    if (replaced > 0) known.keys.clear();
    remember(apps, appId, known, defined);
  }
}

function knownOf(apps: Map<number, KnownDefinitions>, appId: number): KnownDefinitions {
  const known = apps.get(appId);
  return known !== undefined && performance.now() < known.until
    ? known
    : { keys: new Set(), until: performance.now() + KNOWN_FOR_MS, mayReplace: MAX_REPLACED };
}

async function eventsOfLiving(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: readonly AppCall[],
): Promise<Map<string, EventKey>> {
  const erased = await findErasedCalls(tx, secrets, entityId, calls);
  return eventsIn(calls.filter((call) => !erased.has(call)));
}

function eventsIn(calls: readonly AppCall[], known: ReadonlySet<string> = new Set()): Map<string, EventKey> {
  const keys = new Map<string, EventKey>();
  for (const { event } of calls) {
    if (event === null) continue;
    const key = keyOf(event);
    if (!known.has(key) && !keys.has(key)) keys.set(key, { logType: event.logType, name: event.name });
  }
  return keys;
}

function keyOf({ logType, name }: EventKey): string {
  return `${logType} ${name}`;
}

function seenIn(db: Database): Map<number, KnownDefinitions> {
  const apps = seen.get(db) ?? new Map<number, KnownDefinitions>();
  seen.set(db, apps);
  return apps;
}

function remember(
  apps: Map<number, KnownDefinitions>,
  appId: number,
  known: KnownDefinitions,
  defined: Map<string, EventKey>,
): void {
  let size = defined.size;
  for (const { keys } of apps.values()) size += keys.size + 1;
  if (size > MAX_KNOWN) {
    for (const { keys } of apps.values()) keys.clear();
    known.keys.clear();
  }
  for (const key of defined.keys()) known.keys.add(key);
  apps.set(appId, known);
}
