import { createHash } from 'node:crypto';
import type { App } from '../../../store/apps/apps.ts';
import { type FileJob, findFileJob } from '../../../store/files/file-jobs.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { insertMany } from '../../harness/core/database.ts';
import { fetchFile } from '../../harness/core/fetch-file.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';

const ROWS = 400_000;

type Ground = { world: World; app: App };
type Run = { world: World; link: string; identifier: string };

export const buildFileUnderKill: FlowUnderKill<Run, Ground> = {
  name: 'a file of 400,000 events',
  boundaries: [
    { name: 'file: claimed', hit: 1 },
    { name: 'file: key noted', hit: 1 },
    { name: 'file: written', hit: 1 },
  ],
  async prepare({ store }) {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.files');
    await ensurePartitions(store.db, [new Date('2026-11-05')]);
    await insertMany(
      store.db,
      `INSERT INTO events (entity_id, app_id, happened_at, session_id, user_id, log_type, name)
       SELECT $1, $2, timestamptz '2026-11-05' + n * interval '1 second', 7, 'user ' || n % 100, 2, 'Event ' || n
       FROM generate_series(1, ${ROWS}) n`,
      [world.entity.id, app.id],
    );
    return { world, app };
  },
  async begin({ app: server }, { world, app }) {
    const url = `/api/apps/${app.identifier}/events_export.csv?fields=name,date_utc,user_id&skip_email=true`;
    const reply = await server.inject({ method: 'GET', url, headers: { authorization: `Token ${world.token}` } });
    const { callback: link } = reply.json<{ result: { callback: string } }>().result;
    return { world, link, identifier: /fil_\w+/.exec(link)![0] };
  },
  progress: async (stack, run) => (await job(stack, run)).rowsWritten,
  size: ROWS,
  hasEnded: async (stack, run) => (await job(stack, run)).state === 'finished',
  async outcome(stack, run) {
    const { state, rowsWritten } = await job(stack, run);
    const file = String(await fetchFile(stack.app, run.link)).replaceAll(/^\d+,/gm, '');
    const stored: string[] = [];
    for await (const { key } of stack.store.files.list(`files/${run.identifier}`)) stored.push(key);
    return { state, rowsWritten, file: createHash('sha256').update(file).digest('hex'), stored: stored.length };
  },
};

async function job({ store }: Stack, { world, identifier }: Run): Promise<FileJob> {
  return (await findFileJob(store.db, world.entity.id, identifier))!;
}
