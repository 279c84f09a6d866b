import { MINUTE_MS } from '../../domain/core/durations.ts';
import type { TrackedCall } from '../../domain/tracking/call.ts';
import type { SessionWindow } from '../../domain/tracking/session-windows.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { hasErased, listErased, type Person, personKey } from '../gdpr/tombstones.ts';

/** A call with what is known of the app that it came by. */
export type IngestedCall = TrackedCall & {
  appId: number;
  /** The app's SDK System of Records and the entity's global one; without one its traits are left out. */
  sorId: number | null;
  globalSorId?: number | null;
  /** Seconds; the same for all calls of an app. */
  sessionTimeout: number;
};

/** The calls of one device of an app, or of one person without a device, in the order of time: never none. */
export type SubjectCalls = { appId: number; subject: string; deviceId: string | null; calls: IngestedCall[] };

/** A session that calls fell into; `foundAt` is where it began before, null where they began it. */
export type PlacedSession = {
  subject: SubjectCalls;
  session: SessionWindow;
  foundAt: number | null;
  calls: IngestedCall[];
};

/** A subject's calls, with the sessions that they fell into. `latest` is its latest session. */
export type PlacedSubject = SubjectCalls & { latest: SessionWindow; placed: PlacedSession[] };

/** The session of each call; it has its id by now. */
export type SessionsOfCalls = ReadonlyMap<IngestedCall, SessionWindow>;

/**
 * Up to its seconds, the minute of the last one: calls go to the store in the order of time, and to write all of it
 * takes longer.
 */
let known = { minute: Number.NaN, text: '' };

/** A call's time, in whole milliseconds, as Postgres reads it. */
export function timestamp(instantMs: number): string {
  const minute = Math.floor(instantMs / MINUTE_MS);
  if (minute !== known.minute)
    known = { minute, text: new Date(minute * MINUTE_MS).toISOString().slice(0, -'SS.mmmZ'.length) };
  const rest = String(instantMs - minute * MINUTE_MS).padStart('SSmmm'.length, '0');
  return `${known.text}${rest.slice(0, 2)}.${rest.slice(2)}Z`;
}

/** Of the values that calls tell of something, the last; null where none does. */
export function lastOf<T>(calls: readonly IngestedCall[], tell: (call: IngestedCall) => T | null): T | null {
  for (let at = calls.length - 1; at >= 0; at -= 1) {
    const told = tell(calls[at]!);
    if (told !== null) return told;
  }
  return null;
}

/** The same, the first. */
export function firstOf<T>(calls: readonly IngestedCall[], tell: (call: IngestedCall) => T | null): T | null {
  for (const call of calls) {
    const told = tell(call);
    if (told !== null) return told;
  }
  return null;
}

/**
 * The calls that name somebody who was erased, each with that person's keyed hash. `isAny`: whether the entity erased
 * anyone, if known.
 */
export async function findErasedCalls(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  calls: readonly IngestedCall[],
  isAny?: boolean,
): Promise<Map<IngestedCall, Buffer>> {
  const erased = new Map<IngestedCall, Buffer>();
  if (!(isAny ?? (await hasErased(db, entityId)))) return erased;
  const hashes = await listErased(db, secrets, entityId, calls.flatMap(peopleOf));
  if (hashes.size === 0) return erased;
  for (const call of calls) {
    const named = peopleOf(call).find((person) => hashes.has(personKey(person)));
    if (named) erased.set(call, hashes.get(personKey(named))!);
  }
  return erased;
}

/**
 * Returns the ids that a call names, with their types. An earlier id is a user's, whichever device is called the same.
 */
export function peopleOf({ userId, deviceId, previousId }: IngestedCall): Person[] {
  const people: Person[] = [];
  if (userId !== null) people.push({ customerType: 'user_id', customerId: userId });
  if (deviceId !== null) people.push({ customerType: 'device_id', customerId: deviceId });
  if (previousId !== null) people.push({ customerType: 'user_id', customerId: previousId });
  return people;
}
