/** Finds connections by identifier, and locks those that alerts or outcomes go to. */
import { connectorOf, connectors } from '../../connectors/catalog.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type Connection, findConnection, lockConnection } from '../../store/syncs/connections.ts';

/** Locks connections for alerts until the transaction ends. Refuses missing ones, and those that take no alerts. */
export async function requireAlertConnections(
  tx: Queryable,
  entityId: number,
  identifiers: readonly string[],
  element: string,
): Promise<void> {
  for (const [index, identifier] of identifiers.entries()) {
    const at = `${element}.${index}`;
    if (identifiers.indexOf(identifier) < index)
      refuseField(at, 'is the same as an earlier one: name each connection once');
    await requireConnection(tx, entityId, identifier, at, 'alerts');
  }
}

/** Locks a connection for alerts or an app's outcomes in the same way. */
export async function requireConnection(
  tx: Queryable,
  entityId: number,
  identifier: string,
  element: string,
  what: 'alerts' | 'outcomes',
): Promise<string> {
  const found =
    (await lockConnection(tx, entityId, identifier)) ??
    refuseField(element, 'is no identifier of a connection here: GET /api/connections lists them');
  if (connectorOf(found)[what]) return identifier;
  const fitting = connectors.flatMap((connector) => (connector[what] ? connector.name : [])).join(', ');
  return refuseField(element, `is of ${found.connector}, which takes no ${what}: these do: ${fitting}`);
}

/** Returns the caller's connection, locked if `find` is `lockConnection`. Refuses an unknown one with 404. */
export async function knownConnection(
  db: Queryable,
  entityId: number,
  identifier: string,
  find: (db: Queryable, entityId: number, identifier: string) => Promise<Connection | null> = findConnection,
): Promise<Connection> {
  return (await find(db, entityId, identifier)) ?? refuse(404, 'not_found', 'Connection not found');
}
