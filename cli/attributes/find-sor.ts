import type { Client, ViewedSystemOfRecords } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { resolveNamed } from '../core/nearest.ts';

export const SOR = ['<sor>', 'name or identifier of a System of Records'] as const;

/** Returns the SoR's identifier. Does not look up an identifier: the token may lack the right to list SoRs. */
export async function findSorId(client: Client, given: string): Promise<string> {
  return given === 'global' || /^sor_[A-Za-z0-9]+$/.test(given) ? given : (await findSor(client, given)).identifier;
}

export async function findSor(client: Client, given: string): Promise<ViewedSystemOfRecords> {
  const resolved = resolveNamed(await client.listSystemsOfRecords({ query: { secrets: false } }), given, [
    'System of Records',
    'Systems of Records',
  ]);
  return 'found' in resolved ? resolved.found : refuse(404, 'no_sor', resolved.error);
}
