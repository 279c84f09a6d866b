import { refuse } from '../../domain/core/refusal.ts';
import { findSorByApiKey, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import type { RouteDependencies } from '../dependencies.ts';

/** The SoR that the key belongs to, or a 401: whether SoR or key is wrong is not told. */
export async function findSorOfKey(
  { db, secrets }: Pick<RouteDependencies, 'db' | 'secrets'>,
  sorId: string,
  apiKey: string,
): Promise<SystemOfRecord & { entityId: number }> {
  return (await findSorByApiKey(db, secrets, sorId, apiKey)) ?? refuseKey();
}

export function refuseKey(): never {
  return refuse(401, 'unauthorized', 'Invalid sor_id or api_key');
}
