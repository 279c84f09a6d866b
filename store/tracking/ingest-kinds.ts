import { type Database, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedCalls } from './erased-calls.ts';
import { type EventKind, insertEventDefinitions, listMissingKinds, MAX_DEFINITIONS } from './event-definitions.ts';
import type { IngestedCall } from './ingested-call.ts';

/** Of all apps together; a name has at most 256 characters. */
const MAX_KNOWN = 10_000;

/** The kinds of one app that have a definition, by `keyOf`; once it is full no other ever gets one. */
type KnownKinds = { kinds: Set<string>; isFull: boolean };

/** What this process has seen. It stays true: definitions go only with their app, whose id never comes again. */
const seen = new WeakMap<Database, Map<number, KnownKinds>>();

/**
 * Makes the definitions of events that an app's calls tell of for the first time, in transactions of their own: to be called
 * before the one that takes the calls in, which others would wait for. Costs nothing while this process knows the kinds. Calls
 * of the erased define none. Repeats are not told apart here: what they repeat has defined theirs.
 */
export async function insertNewKinds(
  db: Database, secrets: Secrets, entityId: number, calls: readonly IngestedCall[], most = MAX_DEFINITIONS,
): Promise<void> {
  const apps = seenIn(db);
  for (const [appId, own] of Map.groupBy(calls, (call) => call.appId)) {
    const known = apps.get(appId) ?? { kinds: new Set<string>(), isFull: false };
    if (known.isFull) continue;
    const kinds = kindsOf(own, known);
    if (kinds.size === 0) continue;
    const defined = await write(db, async (tx) => {
      const missing = new Set((await listMissingKinds(tx, entityId, appId, [...kinds.values()])).map(keyOf));
      if (missing.size === 0) return kinds;
      // Only now: hardly any batch has a new kind.
      const living = await kindsOfLiving(tx, secrets, entityId, own, known);
      const told = [...living.values()].filter((kind) => missing.has(keyOf(kind)));
      return await insertEventDefinitions(tx, entityId, appId, told, most) ? living : null;
    }, { settings: LOOK_UP_BY_KEY });
    remember(apps, appId, known, defined);
  }
}

async function kindsOfLiving(
  tx: Tx, secrets: Secrets, entityId: number, calls: readonly IngestedCall[], known: KnownKinds,
): Promise<Map<string, EventKind>> {
  const erased = await findErasedCalls(tx, secrets, entityId, calls);
  return kindsOf(calls.filter((call) => !erased.has(call)), known);
}

/** Those that aren't known. */
function kindsOf(calls: readonly IngestedCall[], { kinds: known }: KnownKinds): Map<string, EventKind> {
  const kinds = new Map<string, EventKind>();
  for (const { event } of calls) {
    if (event === null) continue;
    const key = keyOf(event);
    if (!known.has(key) && !kinds.has(key)) kinds.set(key, { logType: event.logType, name: event.name });
  }
  return kinds;
}

function keyOf({ logType, name }: EventKind): string {
  return `${logType} ${name}`;
}

function seenIn(db: Database): Map<number, KnownKinds> {
  const apps = seen.get(db) ?? new Map<number, KnownKinds>();
  seen.set(db, apps);
  return apps;
}

/** `defined` null: the app is full. Then nothing but that is kept: what it names its events may be anything. */
function remember(apps: Map<number, KnownKinds>, appId: number, known: KnownKinds, defined: Map<string, EventKind> | null): void {
  let size = defined?.size ?? 0;
  for (const { kinds } of apps.values()) size += kinds.size + 1;
  if (size > MAX_KNOWN) {
    apps.clear();
    known.kinds.clear();
  }
  if (defined === null) apps.set(appId, { kinds: new Set(), isFull: true });
  else apps.set(appId, { kinds: new Set([...known.kinds, ...defined.keys()]), isFull: known.isFull });
}
