import type { Right } from '../../domain/accounts/rights.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { countAdmins, isOnlyMemberOf, type Member } from '../../store/accounts/members.ts';
import { findUserByEmail, lockSuperadmins, type UserChanges } from '../../store/accounts/users.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Caller } from '../http/caller.ts';

/** Who may do what to whom. Each refuses what may not be. */

/** Nobody gives what they do not have; rights that are there already may stay. */
export function refuseGiving({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = after.find((right) => !before.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only who has the right ${missing} can give it`);
}

/** An admin takes only rights that they have. */
export function refuseTaking({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = before.find((right) => !after.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only an admin who has the right ${missing} can take it`);
}

export function refuseSuperadminChange({ superadmin }: Caller, isChanged: boolean): void {
  if (isChanged && !superadmin) refuse(403, 'forbidden', 'Only a superadmin can change who is one');
}

/**
 * An account is the same in all entities, so an admin changes the names of one that is of the own entity alone; the
 * refusal does not tell why. Links that set a password go to the address: who changes it can be the user, so only a
 * superadmin does.
 */
export async function refuseAccountChange(
  tx: Queryable,
  caller: Caller,
  member: Member,
  { email, firstName, lastName }: UserChanges,
): Promise<void> {
  if (caller.superadmin) return email === undefined ? undefined : refuseOthersEmail(tx, member, email);
  if (email !== undefined) {
    refuse(
      403,
      'forbidden',
      'Only a superadmin can change the e-mail address of a user: links that set a password go there',
    );
  }
  const isOwn = !member.superadmin && (await isOnlyMemberOf(tx, caller.entityId, member.id));
  if (!isOwn && (firstName ?? lastName) !== undefined)
    refuse(403, 'forbidden', 'Only a superadmin can change the names of this user');
}

async function refuseOthersEmail(tx: Queryable, member: Member, email: string): Promise<void> {
  const other = await findUserByEmail(tx, email);
  if (other && other.id !== member.id) refuseTakenEmail();
}

export function refuseTakenEmail(): never {
  return refuseField('email', 'belongs to a user already');
}

/** Whether the user is a superadmin changes by superadmins only, and one always remains. */
export async function refuseSuperadminLoss(
  tx: Queryable,
  caller: Caller,
  member: Member,
  superadmin: boolean,
): Promise<void> {
  refuseSuperadminChange(caller, superadmin !== member.superadmin);
  if (superadmin || !member.superadmin) return;
  if ((await lockSuperadmins(tx)) === 1)
    refuse(400, 'bad_request', 'This is the last superadmin: make another user one first');
}

/** Holds within a transaction that has locked the members. */
export async function refuseLastAdmin(tx: Queryable, entityId: number, member: Member): Promise<void> {
  if (member.admin && (await countAdmins(tx, entityId)) === 1) {
    refuse(400, 'bad_request', 'This is the last admin of the entity: make another user one first');
  }
}
