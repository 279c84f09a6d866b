import { refuse } from '../../domain/core/refusal.ts';
import { type FilterUser, listFilterUsers } from '../../store/analytics/filter-users.ts';
import type { Tx } from '../../store/core/database.ts';

const MAX_NAMED = 20;

/** Refuses to delete a segment or campaign that filters name. `lockSegments` keeps new filters from naming it. */
export async function refuseUsed(tx: Tx, entityId: number, identifiers: readonly string[]): Promise<void> {
  const users = await listFilterUsers(tx, entityId, identifiers, MAX_NAMED);
  if (users.length === 0) return;
  const named = (kind: FilterUser['kind'], who: string) => {
    const own = users.filter((user) => user.kind === kind).map(({ name, identifier }) => `${name} (${identifier})`);
    return own.length === 0 ? [] : [`The filters of ${who} name it: ${own.join(', ')}`];
  };
  refuse(409, 'in_use', [...named('segment', 'other segments'), ...named('campaign', 'campaigns')].join('. '));
}
