import { beforeAll } from 'vitest';
import type { App } from '../../../store/apps/apps.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import { findExporter } from '../../../store/exports/data-exporters.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import type { Answer, CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { resultOf } from '../syncs/use-syncs.ts';

const PATH = '/api/data_exporters';

export const KEYS = { aws_access_key_id: 'AKIDOFASERVERTEST', aws_secret_access_key: 'the secret of a server test' };
/** 32 bytes. */
export const FILE_KEY = 'a key that is for files of tests';

type Asked = { method: 'GET' | 'POST' | 'PUT' | 'DELETE' } & CallOptions;

/** A server over a database with two apps; no bucket is reached. */
export function useExporters() {
  const served = useServer();
  const { store, server, world } = served;
  const apps: App[] = [];

  beforeAll(async () => {
    for (const secret of [KEYS.aws_secret_access_key, FILE_KEY]) rememberSecret(secret);
    for (const name of ['com.example.shop', 'com.example.news'])
      apps.push(await insertSampleApp(store.db, world.entity.id, name));
  });

  const ask = (path: string, { method, ...asked }: Asked) =>
    server.call(method, `${PATH}${path}`, { token: world.token, ...asked });

  /** A body that is taken; `body` goes over it, and undefined takes a member out. */
  const definition = (body: object = {}) => ({
    export_configuration: 'aws_secret_key',
    ...KEYS,
    bucket_name: 'exports',
    app_ids: [apps[0]!.identifier],
    exported_data: ['logs'],
    ...body,
  });
  const create = (body: object = {}) => ask('', { method: 'POST', body: definition(body) });

  return {
    ...served,
    apps,
    ask,
    definition,
    create,
    createdId: async (body: object = {}): Promise<string> => resultOf(await create(body)).identifier,
    view: async (id: string) => resultOf(await ask(`/${id}`, { method: 'GET' })),
    list: async () => resultOf(await ask('', { method: 'GET' })),
    put: (path: string, body: object = {}): Promise<Answer> => ask(`/${path}`, { method: 'PUT', body }),
    stored: async (id: string): Promise<DataExporter> => (await findExporter(store.db, world.entity.id, id))!,
    /** What the audit log has of it, oldest first. */
    audited: async (subject: string) => {
      const { rows } = await store.db.query<{ action: string; details: unknown }>(
        `SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject_kind = 'data_exporter' AND subject = $2 ORDER BY id`,
        [world.entity.id, subject],
      );
      return rows.map(({ action, details }) => [action, details]);
    },
  };
}

/** The fields that a refusal names, with what it says of each. */
export function errorsOf({ status, body }: Answer): [number, Record<string, string>] {
  const messages = (body.messages ?? []) as { element: string; message: string }[];
  return [status, Object.fromEntries(messages.map(({ element, message }) => [element, message]))];
}
