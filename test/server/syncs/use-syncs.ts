import { beforeAll } from 'vitest';
import type { ImportError } from '../../../domain/imports/import-error.ts';
import { write } from '../../../store/core/database.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { insertConnection, type SettingValues } from '../../../store/syncs/connections.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import type { NewRun, RunProgress, SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findSync } from '../../../store/syncs/syncs.ts';
import type { Answer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { insertEndedRun } from './sample-sync.ts';

const SETTINGS: Record<string, SettingValues> = {
  postgres: { host: 'db.example.com', database: 'shop', user: 'reader' },
  'http-file': { url: 'https://files.example.com/customers.csv', format: 'csv' },
  webhook: { url: 'https://hooks.example.com/people' },
};

type AskedRun = Partial<NewRun> & { counts?: Partial<RunProgress>; errors?: ImportError[] };
type Asked = { method: 'GET' | 'POST' | 'PUT' | 'DELETE'; token?: string; body?: object };

/**
 * A server over a database with a connection of each kind; nothing is reached. What is made is named anew each time.
 */
export function useSyncs() {
  const served = useServer();
  const { store, server, world } = served;
  /**
   * Identifiers by the connector: postgres is a source and a destination, http-file a source, webhook a destination.
   */
  const connections: Record<string, string> = {};
  let made = 0;

  beforeAll(async () => {
    for (const [connector, settings] of Object.entries(SETTINGS)) {
      const asked = { name: `The ${connector}`, connector, createdBy: world.user.id, settings, secretSettings: {} };
      const connection = (await write(store.db, (tx) => insertConnection(tx, store.secrets, world.entity.id, asked)))!;
      connections[connector] = connection.identifier;
    }
  });

  const ask = (path: string, { method, token = world.token, body }: Asked) =>
    server.call(method, `/api/syncs${path}`, { token, ...(body ? { body } : {}) });

  /** A definition that is taken; `body` goes over it, and undefined takes a member out. */
  const definition = (body: object = {}) => ({
    name: `Sync ${(made += 1)}`,
    source: { connection: connections.postgres, stream: 'customers' },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' } },
    ...body,
  });

  return {
    ...served,
    connections,
    ask,
    definition,
    create: (body: object = {}): Promise<Answer> => ask('', { method: 'POST', body: definition(body) }),
    /** A destination other than attributes. */
    toWebhook: (more: object = {}) => ({ connection: connections.webhook, stream: 'people', key: ['id'], ...more }),
    createdId: async (body: object = {}) =>
      resultOf(await ask('', { method: 'POST', body: definition(body) })).identifier as string,
    view: async (id: string) => resultOf(await ask(`/${id}`, { method: 'GET' })),
    get: (path: string): Promise<Answer> => ask(path, { method: 'GET' }),
    put: (id: string, body: object): Promise<Answer> => ask(`/${id}`, { method: 'PUT', body }),
    post: (path: string, body: object = {}): Promise<Answer> => ask(path, { method: 'POST', body }),
    stored: async (id: string): Promise<Sync> => (await findSync(store.db, world.entity.id, id))!,
    /** A run of a sync that has ended, with its errors. */
    endedRun: async (id: string, { counts = {}, errors = [], ...asked }: AskedRun = {}): Promise<SyncRun> => {
      const { id: syncId } = (await findSync(store.db, world.entity.id, id))!;
      return write(store.db, async (tx) => {
        const run = await insertEndedRun(
          tx,
          world,
          { syncId, cause: 'request', ...asked },
          { failed: errors.length, ...counts },
        );
        await insertImportErrors(tx, world.entity.id, run.id, errors);
        return run;
      });
    },
    /** What the audit log has of it, oldest first. */
    audited: async (subject: string) => {
      const { rows } = await store.db.query<{ action: string; subject_kind: string; details: unknown }>(
        'SELECT action, subject_kind, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
        [world.entity.id, subject],
      );
      return rows.map(({ action, subject_kind: kind, details }) => [action, kind, details]);
    },
  };
}

/** A mapping of one's customers by their address. */
export const mapping = (...fields: object[]) => ({ customer: { field: 'email' }, fields });

/** How a request was refused. */
export const refusalOf = ({ status, body }: Answer) => [status, body.status, body.error_message];

/** What was answered; a refusal is told. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of a body by looking
export function resultOf({ status, body, text }: Answer): any {
  if (status !== 200) throw new Error(`refused: ${text}`);
  return body.result;
}
