/** Opens a connection: its connector with the stored settings, checked again. */
import { connectorOf } from '../../connectors/catalog.ts';
import type { AnyConnector } from '../../connectors/core/contract.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { findConnection, openSecretSettings, type SettingValues } from '../../store/syncs/connections.ts';
import type { Dependencies } from '../dependencies.ts';

/** Time limit for sending over a connection; shorter than a worker's drain, which waits for it. */
const MAX_SENDING_MS = 25_000;

export const NO_ANSWER = `no answer came within ${MAX_SENDING_MS / 1_000} s`;

/** Returns a connector's context for sending; its signal aborts after the time limit. */
export function sendingContext({ outside, scratch }: Pick<Dependencies, 'outside' | 'scratch'>, entityId: number) {
  const signal = AbortSignal.timeout(MAX_SENDING_MS);
  return { ...outside, scratch: scratch.folderOf(entityId), signal, log: () => undefined };
}

/** A connection with settings that its connector has checked. */
export type OpenConnection = { connector: AnyConnector; settings: unknown; secretSettings: SettingValues };

/**
 * Opens a connection. Refuses with `source_refused` if it is deleted, or if its stored settings are no longer valid.
 */
export async function openConnection(
  { db, secrets }: Pick<Dependencies, 'db' | 'secrets'>,
  entityId: number,
  connectionId: number,
): Promise<OpenConnection> {
  const connection = await findConnection(db, entityId, connectionId);
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
