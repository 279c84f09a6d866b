import type { FastifyInstance } from 'fastify';
import { type StoredImportError, streamImportErrors } from '../../../store/imports/import-errors.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import type { TestStore } from '../core/database.ts';
import type { Stack } from '../core/stack.ts';
import { waitFor } from '../core/wait.ts';
import type { World } from '../core/world.ts';
import { type ForeignPostgres, foreignPostgres } from './foreign-postgres.ts';

/** Asks a server as the world's user, and gives what it answered; a refusal is an error. */
export async function ask<T>(
  app: FastifyInstance,
  world: World,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
): Promise<T> {
  const reply = await app.inject({
    method,
    url,
    headers: { authorization: `Token ${world.token}` },
    ...(payload ? { payload } : {}),
  });
  if (reply.statusCode !== 200) throw new Error(`${method} ${url} was refused: ${reply.body}`);
  return (reply.json() as { result: T }).result;
}

export type Shop = ForeignPostgres & {
  connection: string;
  /** `table` as SQL names it. */
  table(name: string): string;
};

/** A database of another's, with a connection to it. */
export async function openShop(stack: Stack, world: World, name = 'Shop'): Promise<Shop> {
  const foreign = await foreignPostgres(stack.store);
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector: 'postgres',
    settings: { ...foreign.settings, lag_seconds: 0 },
  });
  const schema = foreign.settings.schema.replaceAll('"', '""');
  return { ...foreign, connection, table: (table) => `"${schema}"."${table}"` };
}

/** Makes a sync, and returns its identifier. */
export async function makeSync(stack: Stack, world: World, definition: object): Promise<string> {
  const name = `Sync ${Math.random().toString(36).slice(2)}`;
  return (await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/syncs', { name, ...definition }))
    .identifier;
}

/** Asks for a run, and returns its identifier. */
export async function askForRun(
  stack: Stack,
  world: World,
  sync: string,
  body: object = {},
  how: 'run' | 'dry_run' = 'run',
): Promise<string> {
  return (await ask<{ run_id: string }>(stack.app, world, 'POST', `/api/syncs/${sync}/${how}`, body)).run_id;
}

/** Waits for the end of a run. */
export function runEnded({ db }: TestStore, world: World, identifier: string): Promise<SyncRun> {
  return waitFor(`the end of run ${identifier}`, async () => {
    const run = await findRun(db, world.entity.id, identifier);
    return run?.endedAt ? run : null;
  });
}

/** Asks for a run and waits for its end. */
export async function runSync(
  stack: Stack,
  world: World,
  sync: string,
  body: object = {},
  how: 'run' | 'dry_run' = 'run',
): Promise<SyncRun> {
  return runEnded(stack.store, world, await askForRun(stack, world, sync, body, how));
}

export function runErrors({ db }: TestStore, world: World, { id }: SyncRun): Promise<StoredImportError[]> {
  return Array.fromAsync(streamImportErrors(db, world.entity.id, id));
}
