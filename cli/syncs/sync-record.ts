import type { BodyOf, Client, Sync, SyncDefinition } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { nearestOf } from '../core/nearest.ts';

export function listSyncs(client: Client): Promise<Sync[]> {
  return Array.fromAsync(client.each.listSyncs());
}

/** Finds the sync with an identifier, or else with a name. */
export async function findSync(client: Client, given: string): Promise<Sync> {
  const syncs = await listSyncs(client);
  const found = syncs.find(({ identifier }) => identifier === given) ?? syncs.find(({ name }) => name === given);
  return (
    found ??
    refuse(
      404,
      'no_sync',
      `There is no sync ${given}${nearestOf(
        given,
        syncs.map(({ name }) => name),
      )}`,
    )
  );
}

/** Returns the definition as a request's body has it, without the other members of an answer. */
export function definitionOf(sync: SyncDefinition): BodyOf<'createSync'> {
  return {
    name: sync.name,
    source: unnamed(sync.source),
    destination: unnamed(sync.destination),
    mapping: sync.mapping,
    mode: sync.mode,
    cursor_field: sync.cursor_field,
    removes: sync.removes,
    removal_limit: sync.removal_limit,
    schedule: sync.schedule,
    on_schema_change: sync.on_schema_change,
    alerts: sync.alerts,
  };
}

function unnamed(end: object): object {
  return Object.fromEntries(Object.entries(end).filter(([member]) => member !== 'name'));
}
