import { refuse } from '../../domain/core/refusal.ts';
import { allPages } from '../core/all-pages.ts';
import type { Server } from '../core/client.ts';
import { nearestOf } from '../core/nearest.ts';

/** What its makers say of a sync, with all that they left out. */
export type SyncDefinition = {
  name: string;
  source: { connection: string; stream: string; name: string };
  destination: { sor?: string; connection?: string; stream?: string; key?: string[]; name: string | null };
  mapping: unknown; mode: string; cursor_field: string | null; removes: boolean; removal_limit: number; schedule: unknown;
  on_schema_change: string; alerts: unknown;
};

/** What `GET /api/syncs/<sync>` tells. */
export type SyncRecord = SyncDefinition & {
  identifier: string; state: 'active' | 'paused'; paused_reason: string | null; failures: number; next_runs: string[];
  last_run: { run_id: string; state: string; ended_at: string | null; failed_records: number } | null;
};

export function listSyncs(server: Server): Promise<SyncRecord[]> {
  return allPages<SyncRecord>(server, '/api/syncs');
}

/** The sync with an identifier, or else with a name. */
export async function findSync(server: Server, given: string): Promise<SyncRecord> {
  const syncs = await listSyncs(server);
  const found = syncs.find(({ identifier }) => identifier === given) ?? syncs.find(({ name }) => name === given);
  return found ?? refuse(404, 'no_sync', `There is no sync ${given}${nearestOf(given, syncs.map(({ name }) => name))}`);
}

export function syncPath(identifier: string): string {
  return `/api/syncs/${encodeURIComponent(identifier)}`;
}

/** As a body has it: what else an answer tells of the ends is left out. */
export function definitionOf(sync: SyncDefinition): Record<string, unknown> {
  return {
    name: sync.name, source: unnamed(sync.source), destination: unnamed(sync.destination), mapping: sync.mapping,
    mode: sync.mode, cursor_field: sync.cursor_field, removes: sync.removes, removal_limit: sync.removal_limit,
    schedule: sync.schedule, on_schema_change: sync.on_schema_change, alerts: sync.alerts,
  };
}

function unnamed(end: object): object {
  return Object.fromEntries(Object.entries(end).filter(([member]) => member !== 'name'));
}
