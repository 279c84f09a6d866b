import type { Client } from '../../api/client.ts';
import { resolveNamed } from '../core/nearest.ts';

type Named = { identifier: string; name: string };

export type SyncEnds = { connection: Named[]; sor: Named[] };

const WORDS = { connection: ['connection', 'connections'], sor: ['System of Records', 'Systems of Records'] } as const;

export async function listSyncEnds(client: Client): Promise<SyncEnds> {
  return {
    connection: await Array.fromAsync(client.each.listConnections()),
    sor: await client.listSystemsOfRecords({ query: { secrets: false } }),
  };
}

export function resolveEnd(
  ends: SyncEnds,
  kind: keyof SyncEnds,
  given: string,
): { identifier: string } | { error: string } {
  const resolved = resolveNamed(ends[kind], given, WORDS[kind]);
  return 'found' in resolved ? { identifier: resolved.found.identifier } : resolved;
}
