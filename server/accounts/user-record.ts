import { z } from 'zod';
import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import type { Member } from '../../store/accounts/members.ts';
import { rightsOf } from '../http/caller.ts';

/** Each right with whether it is given, as the login answer shows them (reference: Authentication, 2). */
export const Enable = z.record(z.enum(RIGHTS), z.boolean());

/** A user as the admins of one entity see them. */
export const UserRecord = z.object({
  id: z.int(),
  uid: z.string(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  full_name: z.string(),
  enable: Enable,
  admin: z.boolean(),
  superadmin: z.boolean(),
});

export function showMember(member: Member): z.input<typeof UserRecord> {
  return {
    id: member.id,
    uid: member.uid,
    email: member.email,
    first_name: member.firstName,
    last_name: member.lastName,
    full_name: fullName(member),
    enable: showRights(rightsOf(member)),
    admin: member.admin,
    superadmin: member.superadmin,
  };
}

export function showRights(rights: ReadonlySet<Right>): Record<Right, boolean> {
  return Object.fromEntries(RIGHTS.map((right) => [right, rights.has(right)])) as Record<Right, boolean>;
}

export function fullName({ firstName, lastName }: { firstName: string; lastName: string }): string {
  return [firstName, lastName].filter(Boolean).join(' ');
}
