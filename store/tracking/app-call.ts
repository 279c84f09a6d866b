/** Calls as the store takes them: with their app, by device or person, and in their sessions. */

import { MINUTE_MS } from '../../domain/time/durations.ts';
import type { Call } from '../../domain/tracking/call.ts';
import type { SessionWindow } from '../../domain/tracking/session-windows.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { hasErased, listErased, type Person, personKey } from '../gdpr/tombstones.ts';

export type AppCall = Call & {
  appId: number;
  /** The app's SDK System of Records, and the entity's global one; without one the store drops its traits. */
  sorId: number | null;
  globalSorId?: number | null;
  /** In seconds; the same for all calls of an app. */
  sessionTimeout: number;
};

/** The calls of a device of an app, or of a person without a device, in order of time; at least one. */
export type SubjectCalls = { appId: number; subject: string; deviceId: string | null; calls: AppCall[] };

/** A session with its calls of this batch. `foundAt` is its stored start; null for a new session. */
export type PlacedSession = {
  subject: SubjectCalls;
  session: SessionWindow;
  foundAt: number | null;
  calls: AppCall[];
};

export type PlacedSubject = SubjectCalls & { latest: SessionWindow; placed: PlacedSession[] };

export type SessionsOfCalls = ReadonlyMap<AppCall, SessionWindow>;

/** The last call's minute as text: calls come in order of time, and formatting the whole time takes longer. */
let known = { minute: Number.NaN, text: '' };

/** Returns a call's time (in whole ms) as Postgres reads it. */
export function timestamp(instantMs: number): string {
  const minute = Math.floor(instantMs / MINUTE_MS);
  if (minute !== known.minute)
    known = { minute, text: new Date(minute * MINUTE_MS).toISOString().slice(0, -'SS.mmmZ'.length) };
  const rest = String(instantMs - minute * MINUTE_MS).padStart('SSmmm'.length, '0');
  return `${known.text}${rest.slice(0, 2)}.${rest.slice(2)}Z`;
}

/** Finds the calls that name an erased person, each with the person's keyed hash. `isAny`: any erased in the entity. */
export async function findErasedCalls(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  calls: readonly AppCall[],
  isAny?: boolean,
): Promise<Map<AppCall, Buffer>> {
  const erased = new Map<AppCall, Buffer>();
  if (!(isAny ?? (await hasErased(db, entityId)))) return erased;
  const hashes = await listErased(db, secrets, entityId, calls.flatMap(peopleOf));
  if (hashes.size === 0) return erased;
  for (const call of calls) {
    const named = peopleOf(call).find((person) => hashes.has(personKey(person)));
    if (named) erased.set(call, hashes.get(personKey(named))!);
  }
  return erased;
}

/** Returns the ids in a call, with their types. An earlier id counts as a user's, even if a device has the same one. */
export function peopleOf({ userId, deviceId, previousId }: AppCall): Person[] {
  const people: Person[] = [];
  if (userId !== null) people.push({ customerType: 'user_id', customerId: userId });
  if (deviceId !== null) people.push({ customerType: 'device_id', customerId: deviceId });
  if (previousId !== null) people.push({ customerType: 'user_id', customerId: previousId });
  return people;
}
