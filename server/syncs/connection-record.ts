import type * as api from '../../api/syncs/connections.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type Connection, findConnection } from '../../store/syncs/connections.ts';
import { showSettings } from './connection-settings.ts';

export function showConnection(connection: Connection): api.Connection {
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
