/** Looks at a person: one audit entry lets the same caller read more of this person for an hour. */

import { z } from 'zod';
import { LOOK_MS } from '../../domain/analytics/person.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { actorOf, auditReads } from '../http/audit.ts';
import type { Circumstances } from '../http/route.ts';
import type { Caller } from '../http/caller.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';

/** The caller who looked, and the time in milliseconds. */
const Look = z.object({ actor: z.string(), at: z.int() });
export type Look = z.output<typeof Look>;

type Who = Circumstances & { caller: Caller };

/** Writes the audit entry, unless `look` is the caller's own within the hour. Returns the look that counts. */
export async function auditLook(
  { db, secrets }: RouteDependencies,
  who: Who,
  person: Person,
  what: string,
  look: Look | null,
): Promise<Look> {
  const { actorKind, actorId } = actorOf(who);
  const actor = `${actorKind} ${actorId}`;
  const now = Date.now();
  if (look?.actor === actor && look.at > now - LOOK_MS) return look;
  await auditReads(db, who, [hashOf(secrets, who.caller.entityId, person)], { what });
  return { actor, at: now };
}

export function hashOf(secrets: Secrets, entityId: number, { customerType, customerId }: Person): Buffer {
  return secrets.customerHash(entityId, customerType, customerId);
}

export function sealLook(secrets: Secrets, entityId: number, person: Person, look: Look): string {
  return secrets.seal(JSON.stringify(look), cellOf(entityId, person, 'look'));
}

/** Refuses a look at another person. */
export function openLook(secrets: Secrets, entityId: number, person: Person, given: string): Look {
  return (
    openSealedCursor(secrets, cellOf(entityId, person, 'look'), Look, given) ??
    refuseField('look', 'is not the `look` of a call for this person')
  );
}

function cellOf(entityId: number, { customerType, customerId }: Person, column: string) {
  return { table: 'people', column, entityId, row: `${customerType}/${customerId}` };
}
