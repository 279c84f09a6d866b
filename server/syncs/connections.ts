/** The routes of connections: list, create, change, delete. */
import * as api from '../../api/syncs/connections.ts';
import { connectorOf, findConnector } from '../../connectors/catalog.ts';
import { secretMembers } from '../../connectors/core/contract.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { listExportersAlerting } from '../../store/exports/data-exporters.ts';
import { listAppsDelivering } from '../../store/sends/outcome-deliveries.ts';
import {
  type Connection,
  deleteConnection,
  insertConnection,
  listConnections,
  lockConnection,
  openSecretSettings,
  type SettingValues,
  type SplitSettings,
  updateConnection,
} from '../../store/syncs/connections.ts';
import { listSyncsThatUse } from '../../store/syncs/syncs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseWhileUsed } from '../http/while-used.ts';
import { knownConnection } from './connection-record.ts';
import { changedMembers, connectorNamed, readSettings, refuseSecretsElsewhere } from './connection-settings.ts';

const NAME_TAKEN = 'is the name of another connection already';

const listTheConnections = route(
  api.listConnections,
  async ({ query, caller: { entityId } }, { db, settings: serverSettings }) => {
    const { items, total } = await listConnections(db, entityId, rowsOf(query));
    return showPage(serverSettings, api.listConnections.path, query, total, items.map(showConnection));
  },
);

const viewConnection = route(api.viewConnection, async ({ params: { connection_id }, caller }, { db }) => {
  return showConnection(await knownConnection(db, caller.entityId, connection_id));
});

const createConnection = route(api.createConnection, async ({ body, keepReply, ...who }, { db, secrets }) => {
  const { entityId, userId } = who.caller;
  const connector = connectorNamed(body.connector);
  const split = readSettings(connector, body.settings);
  return write(db, async (tx) => {
    const asked = { name: body.name, connector: connector.name, createdBy: userId, ...split };
    const connection = (await insertConnection(tx, secrets, entityId, asked)) ?? refuseField('name', NAME_TAKEN);
    const details = { connector: connector.name };
    await audit(tx, who, { action: 'create', subjectKind: 'connection', subject: connection.identifier, details });
    return keepReply(tx, showConnection(connection));
  });
});

const changeConnection = route(api.updateConnection, async ({ params: { connection_id }, body, ...who }, deps) => {
  const { entityId } = who.caller;
  // If two give the same name at once, the second finds it taken.
  return write(
    deps.db,
    async (tx) => {
      const before = await knownConnection(tx, entityId, connection_id, lockConnection);
      await refuseOlderRevision(tx, entityId, 'connection', before, body.revision);
      const { name = before.name } = body;
      const isRenamed = name !== before.name;
      const { changed, split } = readChange(deps, entityId, before, body.settings);
      if (changed.length > 0) await refuseElsewhere(tx, who.caller, before);
      const isChanged = isRenamed || split !== null;
      if (isChanged && !(await updateConnection(tx, deps.secrets, entityId, before, { name, split })))
        refuseField('name', NAME_TAKEN);
      const details = {
        ...(isRenamed ? { name: true } : {}),
        ...(changed.length > 0 ? { settings: changed.join(' ') } : {}),
      };
      await audit(tx, who, { action: 'update', subjectKind: 'connection', subject: before.identifier, details });
      return showConnection(await knownConnection(tx, entityId, connection_id));
    },
    { collide: true },
  );
});

/** Requires the right of an app's `outcomes_connection`, which decides who receives personal data. */
async function refuseElsewhere(tx: Tx, { entityId, rights }: Caller, { identifier }: Connection): Promise<void> {
  if (rights.has('gdpr_data_manage')) return;
  const [app] = await listAppsDelivering(tx, entityId, identifier);
  if (app !== undefined)
    refuse(403, 'forbidden', `This needs the right gdpr_data_manage: it is the outcomes_connection of ${app}`);
}

/** Returns the members that change, and the settings to store; null if they stay. */
function readChange(
  { secrets }: RouteDependencies,
  entityId: number,
  before: Connection,
  given: SettingValues | undefined,
): { changed: string[]; split: SplitSettings | null } {
  if (given === undefined) return { changed: [], split: null };
  const connector = connectorOf(before);
  const stored = { settings: before.settings, secretSettings: openSecretSettings(secrets, entityId, before) };
  const split = readSettings(connector, given, stored.secretSettings);
  const changed = changedMembers(stored, split);
  refuseSecretsElsewhere(connector, given, stored, changed);
  return { changed, split: changed.length > 0 ? split : null };
}

const deleteTheConnection = route(api.deleteConnection, async ({ params: { connection_id }, ...who }, { db }) => {
  await write(db, async (tx) => {
    const { entityId } = who.caller;
    // Locked, so that no sync takes it up meanwhile.
    const connection = await knownConnection(tx, entityId, connection_id, lockConnection);
    refuseWhileUsed('connection', await listSyncsThatUse(tx, entityId, { connection }));
    const exporters = await listExportersAlerting(tx, entityId, connection.identifier);
    refuseWhileUsed('connection', exporters, {
      kind: 'exporters',
      advice: 'Take it out of their notify_connections first',
    });
    const apps = await listAppsDelivering(tx, entityId, connection.identifier);
    refuseWhileUsed('connection', apps, { kind: 'apps', advice: 'Take it out of their outcomes_connection first' });
    await deleteConnection(tx, entityId, connection.id);
    await audit(tx, who, { action: 'delete', subjectKind: 'connection', subject: connection_id });
  });
  return noResult();
});

export const connectionRoutes: Route[] = [
  listTheConnections,
  viewConnection,
  createConnection,
  changeConnection,
  deleteTheConnection,
];

function showConnection(connection: Connection): api.Connection {
  const { identifier, name, connector, revision } = connection;
  return {
    identifier,
    name,
    connector,
    settings: showSettings(connection),
    revision,
    created_by: connection.createdBy,
    created_at: connection.createdAt.toISOString(),
    updated_at: connection.updatedAt.toISOString(),
  };
}

function showSettings({
  connector: name,
  settings,
  secretNames,
}: {
  connector: string;
  settings: SettingValues;
  secretNames: string[];
}): SettingValues {
  const connector = findConnector(name);
  const secrets = new Set([...(connector ? secretMembers(connector.settings) : []), ...secretNames]);
  const markers = [...secrets].map((member) => [member, { set: secretNames.includes(member) }]);
  return { ...settings, ...(Object.fromEntries(markers) as SettingValues) };
}
