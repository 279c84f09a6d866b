import type { Right } from '../../domain/accounts/rights.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Caller } from '../http/caller.ts';

/** Rules about changes of users; each refuses what is not allowed. */

/** Refuses rights that the caller does not have, unless the user has them already. */
export function refuseGiving({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = after.find((right) => !before.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only who has the right ${missing} can give it`);
}

export function refuseSuperadminChange({ superadmin }: Caller, isChanged: boolean): void {
  if (isChanged && !superadmin) refuse(403, 'forbidden', 'Only a superadmin can change who is one');
}
