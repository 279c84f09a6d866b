import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import type { Tx } from '../../store/core/database.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import type { Circumstances } from '../http/route.ts';
import type { ProfileListQuery } from './profile-query.ts';

export type AskedProfiles = Circumstances & { query: ProfileListQuery; caller: Caller };

/** Those who are asked for by name are written down one by one, a page of anybody as one entry. */
export async function auditPage(
  tx: Tx,
  { query, ...who }: AskedProfiles,
  { secrets }: RouteDependencies,
  profiles: number,
): Promise<void> {
  const { customer_ids: ids, customer_id_type: type } = query;
  if (!ids) return audit(tx, who, { action: 'read', subjectKind: 'customer', details: { profiles } });
  const hashes = ids.flatMap((id) =>
    (type ? [type] : CUSTOMER_TYPES).map((each) => secrets.customerHash(who.caller.entityId, each, id)),
  );
  return auditReads(tx, who, hashes, { profiles });
}
