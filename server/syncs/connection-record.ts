import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type Connection, findConnection } from '../../store/syncs/connections.ts';
import { showSettings } from './connection-settings.ts';

/** A connection as it is shown: its secrets are not. */
export const ConnectionRecord = z.object({
  identifier: z.string(),
  name: z.string(),
  connector: z.string(),
  settings: z.record(z.string(), z.unknown()).describe('In the place of a secret stands { "set": true or false }'),
  revision: z.int().describe('Raised by each change of the settings'),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

export function showConnection(connection: Connection): z.input<typeof ConnectionRecord> {
  const { identifier, name, connector, revision } = connection;
  return {
    identifier, name, connector, settings: showSettings(connection), revision,
    created_by: connection.createdBy,
    created_at: connection.createdAt.toISOString(),
    updated_at: connection.updatedAt.toISOString(),
  };
}

/** The caller's connection, found or, with `lockConnection`, held. */
export async function knownConnection(
  db: Queryable, entityId: number, identifier: string, find = findConnection,
): Promise<Connection> {
  return await find(db, entityId, identifier) ?? refuse(404, 'not_found', 'Connection not found');
}
