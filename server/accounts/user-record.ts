import type * as api from '../../api/accounts/users.ts';
import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import type { Member } from '../../store/accounts/members.ts';
import { rightsOf } from '../http/caller.ts';

export function showMember(member: Member): api.User {
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
