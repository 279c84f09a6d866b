import { type Database, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedCalls } from './erased-calls.ts';
import {
  type EventKey,
  insertEventDefinitions,
  listUndefined,
  MAX_DEFINITIONS,
  updateDaysSeen,
} from './event-definitions.ts';
import type { IngestedCall } from './ingested-call.ts';

/** Of all apps together; a name has at most 256 characters. */
const MAX_KNOWN = 10_000;

/**
 * How long what was looked up counts as known. Definitions go meanwhile: staff delete them, and new ones take their
 * places.
 */
const KNOWN_FOR_MS = 5 * 60_000;
/** Maximum number of definitions of an app that this process replaces in that time. */
const MAX_REPLACED = 500;

/** The events of one app that were looked up, by `keyOf`, and how many more may take the place of another. */
type KnownDefinitions = { keys: Set<string>; until: number; mayReplace: number };

/** The definitions that this process has seen. */
const seen = new WeakMap<Database, Map<number, KnownDefinitions>>();

/**
 * Makes the definitions of events that an app's calls tell of for the first time, and notes that known ones came, in
 * transactions of their own: to be called before the one that takes the calls in, which others would wait for. Costs
 * nothing while this process knows the definitions. Calls of erased people define none. Repeats are not added apart
 * here: what they repeat has defined theirs.
 */
export async function insertNewDefinitions(
  db: Database,
  secrets: Secrets,
  entityId: number,
  calls: readonly IngestedCall[],
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
        // Only now: hardly any batch has a new event.
        const living = await eventsOfLiving(tx, secrets, entityId, own);
        return {
          defined: living,
          replaced: await insertEventDefinitions(tx, entityId, appId, [...living.values()], most, known.mayReplace),
        };
      },
      { settings: LOOK_UP_BY_KEY },
    );
    known.mayReplace -= replaced;
    // Some of them may have given way.
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
  calls: readonly IngestedCall[],
): Promise<Map<string, EventKey>> {
  const erased = await findErasedCalls(tx, secrets, entityId, calls);
  return eventsIn(calls.filter((call) => !erased.has(call)));
}

/** The events of calls, by `keyOf`, each once; without those that are known. */
function eventsIn(calls: readonly IngestedCall[], known: ReadonlySet<string> = new Set()): Map<string, EventKey> {
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
