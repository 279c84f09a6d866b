import { refuse } from '../../domain/core/refusal.ts';
import { findSor, findSorsByApiKeys, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { RouteDependencies } from '../dependencies.ts';

/** Returns the SoR. Refuses with 401, without saying whether SoR or key is wrong. */
export async function findSorOfKey(
  { db, secrets }: Pick<RouteDependencies, 'db' | 'secrets'>,
  sorId: string,
  apiKey: string,
): Promise<SystemOfRecord & { entityId: number }> {
  return (await findSorsByApiKeys(db, secrets, [{ identifier: sorId, apiKey }]))[0] ?? refuseKey();
}

export function refuseKey(): never {
  return refuse(401, 'unauthorized', 'Invalid sor_id or api_key');
}

export async function requireSor(
  db: Queryable,
  entityId: number,
  identifier: string,
): Promise<SystemOfRecord & { entityId: number }> {
  const sor = (await findSor(db, entityId, identifier)) ?? refuse(404, 'not_found', 'System of record not found');
  return { ...sor, entityId };
}
