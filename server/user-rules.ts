import { refuse, refuseField } from '../domain/refusal.ts';
import type { Right } from '../domain/rights.ts';
import type { Queryable } from '../store/database.ts';
import { countAdmins, isOnlyMemberOf, type Member } from '../store/members.ts';
import { findUserByEmail, lockSuperadmins, type UserChanges } from '../store/users.ts';
import type { Caller } from './caller.ts';

/** Who may do what to whom. Each refuses what may not be. */

/** Nobody gives what they do not have; rights that are there already may stay. */
export function refuseGiving({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = after.find((right) => !before.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only who has the right ${missing} can give it`);
}

export function refuseSuperadminChange({ superadmin }: Caller, isChanged: boolean): void {
  if (isChanged && !superadmin) refuse(403, 'forbidden', 'Only a superadmin can change who is one');
}

/**
 * An account is the same in all entities, and who sets its password can be its user anywhere. So an admin changes
 * one that is of the own entity alone; the refusal does not tell why.
 */
export async function refuseAccountChange(
  tx: Queryable, caller: Caller, member: Member, { email }: UserChanges,
): Promise<void> {
  const isFree = caller.superadmin || (!member.superadmin && await isOnlyMemberOf(tx, caller.entityId, member.id));
  if (!isFree) {
    const message = 'Only a superadmin can change names, e-mail address or password of this user; the password also the user';
    refuse(403, 'forbidden', message);
  }
  const other = email === undefined ? null : await findUserByEmail(tx, email);
  if (other && other.id !== member.id) refuseTakenEmail();
}

export function refuseTakenEmail(): never {
  return refuseField('email', 'belongs to a user already');
}

/** Whether the user is a superadmin changes by superadmins only, and one always remains. */
export async function refuseSuperadminLoss(
  tx: Queryable, caller: Caller, member: Member, superadmin: boolean,
): Promise<void> {
  refuseSuperadminChange(caller, superadmin !== member.superadmin);
  if (superadmin || !member.superadmin) return;
  if (await lockSuperadmins(tx) === 1) refuse(400, 'bad_request', 'This is the last superadmin: make somebody else one first');
}

/** Holds within a transaction that has locked the members. */
export async function refuseLastAdmin(tx: Queryable, entityId: number, member: Member): Promise<void> {
  if (member.admin && await countAdmins(tx, entityId) === 1) {
    refuse(400, 'bad_request', 'This is the last admin of the entity: make somebody else one first');
  }
}
