import type { Right } from '../../domain/accounts/rights.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Caller } from '../http/caller.ts';

/** Who may do what to whom. Each refuses what may not be. */

/** Nobody gives what they do not have; rights that are there already may stay. */
export function refuseGiving({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = after.find((right) => !before.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only who has the right ${missing} can give it`);
}

export function refuseSuperadminChange({ superadmin }: Caller, isChanged: boolean): void {
  if (isChanged && !superadmin) refuse(403, 'forbidden', 'Only a superadmin can change who is one');
}
