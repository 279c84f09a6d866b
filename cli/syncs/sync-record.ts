import type { BodyOf, Client, Sync, SyncDefinition } from '../../api/client.ts';

export function listSyncs(client: Client): Promise<Sync[]> {
  return Array.fromAsync(client.each.listSyncs());
}

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
