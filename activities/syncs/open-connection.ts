import { connectorOf } from '../../connectors/catalog.ts';
import type { AnyConnector } from '../../connectors/core/contract.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { findConnectionById, openSecretSettings, type SettingValues } from '../../store/syncs/connections.ts';
import type { Dependencies } from '../dependencies.ts';

/** How long a connection may take to be sent something: within the drain of a worker, which finishes what it sends. */
const MAX_SENDING_MS = 25_000;

export const NO_ANSWER = `no answer came within ${MAX_SENDING_MS / 1_000} s`;

/** Returns a connector's context for sending; its signal ends the sending when no answer comes. */
export function sendingContext({ outside, scratch }: Pick<Dependencies, 'outside' | 'scratch'>, entityId: number) {
  const signal = AbortSignal.timeout(MAX_SENDING_MS);
  return { ...outside, scratch: scratch.folderOf(entityId), signal, log: () => undefined };
}

/** A connection with its settings as its connector takes them. */
export type OpenConnection = { connector: AnyConnector; settings: unknown; secretSettings: SettingValues };

/**
 * Refuses with `source_refused` where it is gone, or an earlier version stored what its connector does not take any
 * more.
 */
export async function openConnection(
  { db, secrets }: Pick<Dependencies, 'db' | 'secrets'>,
  entityId: number,
  connectionId: number,
): Promise<OpenConnection> {
  const connection = await findConnectionById(db, entityId, connectionId);
  if (!connection) throw sourceRefusal('source_refused', 'The connection was deleted: give the sync another');
  const connector = connectorOf(connection);
  const secretSettings = openSecretSettings(secrets, entityId, connection);
  const parsed = connector.settings.safeParse({ ...connection.settings, ...secretSettings });
  if (parsed.success) return { connector, settings: parsed.data, secretSettings };
  const { path, message } = parsed.error.issues[0]!;
  const error = `${path.join('.')} ${message}`;
  throw sourceRefusal(
    'source_refused',
    `The settings of the connection ${connection.name} have to be given anew: ${error}`,
  );
}
