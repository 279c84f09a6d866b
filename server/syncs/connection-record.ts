import { connectorOf, connectors } from '../../connectors/catalog.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type Connection, findConnection, lockConnection } from '../../store/syncs/connections.ts';

/**
 * Holds connections that are to get alerts until the transaction ends; refuses one that is not there, or takes none.
 */
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
    const found =
      (await lockConnection(tx, entityId, identifier)) ??
      refuseField(at, 'is no identifier of a connection here: GET /api/connections lists them');
    if (connectorOf(found).alerts) continue;
    const fitting = connectors
      .filter(({ alerts }) => alerts !== undefined)
      .map(({ name }) => name)
      .join(', ');
    refuseField(at, `is of ${found.connector}, which takes no alerts: these do: ${fitting}`);
  }
}

/**
 * Holds the connection that is to get an app's outcomes until the transaction ends; refuses one that is not there, or
 * takes none.
 */
export async function requireOutcomesConnection(
  tx: Queryable,
  entityId: number,
  identifier: string,
  element: string,
): Promise<string> {
  const found =
    (await lockConnection(tx, entityId, identifier)) ??
    refuseField(element, 'is no identifier of a connection here: GET /api/connections lists them');
  if (connectorOf(found).outcomes) return identifier;
  const fitting = connectors
    .filter(({ outcomes }) => outcomes !== undefined)
    .map(({ name }) => name)
    .join(', ');
  return refuseField(element, `is of ${found.connector}, which takes no outcomes: these do: ${fitting}`);
}

/** The caller's connection, found or, with `lockConnection`, held. */
export async function knownConnection(
  db: Queryable,
  entityId: number,
  identifier: string,
  find = findConnection,
): Promise<Connection> {
  return (await find(db, entityId, identifier)) ?? refuse(404, 'not_found', 'Connection not found');
}
