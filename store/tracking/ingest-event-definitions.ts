import { type Database, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedCalls } from './erased-calls.ts';
import { type EventKey, insertEventDefinitions, listUndefined, MAX_DEFINITIONS } from './event-definitions.ts';
import type { IngestedCall } from './ingested-call.ts';

/** Of all apps together; a name has at most 256 characters. */
const MAX_KNOWN = 10_000;

/** The events of one app that have a definition, by `keyOf`; once it is full no other ever gets one. */
type KnownDefinitions = { keys: Set<string>; isFull: boolean };

/** What this process has seen. It stays true: definitions go only with their app, whose id never comes again. */
const seen = new WeakMap<Database, Map<number, KnownDefinitions>>();

/**
 * Makes the definitions of events that an app's calls tell of for the first time, in transactions of their own: to be called
 * before the one that takes the calls in, which others would wait for. Costs nothing while this process knows the definitions.
 * Calls of erased people define none. Repeats are not added apart here: what they repeat has defined theirs.
 */
export async function insertNewDefinitions(
  db: Database, secrets: Secrets, entityId: number, calls: readonly IngestedCall[], most = MAX_DEFINITIONS,
): Promise<void> {
  const apps = seenIn(db);
  for (const [appId, own] of Map.groupBy(calls, (call) => call.appId)) {
    const known = apps.get(appId) ?? { keys: new Set<string>(), isFull: false };
    if (known.isFull) continue;
    const keys = undefinedOf(own, known);
    if (keys.size === 0) continue;
    const defined = await write(db, async (tx) => {
      const missing = new Set((await listUndefined(tx, entityId, appId, [...keys.values()])).map(keyOf));
      if (missing.size === 0) return keys;
      // Only now: hardly any batch has a new event.
      const living = await undefinedOfLiving(tx, secrets, entityId, own, known);
      const added = [...living.values()].filter((key) => missing.has(keyOf(key)));
      return await insertEventDefinitions(tx, entityId, appId, added, most) ? living : null;
    }, { settings: LOOK_UP_BY_KEY });
    remember(apps, appId, known, defined);
  }
}

async function undefinedOfLiving(
  tx: Tx, secrets: Secrets, entityId: number, calls: readonly IngestedCall[], known: KnownDefinitions,
): Promise<Map<string, EventKey>> {
  const erased = await findErasedCalls(tx, secrets, entityId, calls);
  return undefinedOf(calls.filter((call) => !erased.has(call)), known);
}

/** The events that have no known definition. */
function undefinedOf(calls: readonly IngestedCall[], { keys: known }: KnownDefinitions): Map<string, EventKey> {
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

/** `defined` null: the app is full. Then nothing but that is kept: what it names its events may be anything. */
function remember(
  apps: Map<number, KnownDefinitions>, appId: number, known: KnownDefinitions, defined: Map<string, EventKey> | null,
): void {
  let size = defined?.size ?? 0;
  for (const { keys } of apps.values()) size += keys.size + 1;
  if (size > MAX_KNOWN) {
    apps.clear();
    known.keys.clear();
  }
  if (defined === null) apps.set(appId, { keys: new Set(), isFull: true });
  else apps.set(appId, { keys: new Set([...known.keys, ...defined.keys()]), isFull: known.isFull });
}
