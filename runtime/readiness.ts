/** Checks each part that a server and its background work need: `/health/ready`. */
import { setTimeout as delay } from 'node:timers/promises';
import { FileStoreAway } from '../domain/core/internal-error.ts';
import { Refusal } from '../domain/core/refusal.ts';
import { TASK_QUEUES, type TaskQueue } from '../domain/jobs/workflow-id.ts';
import type { Readiness } from '../server/dependencies.ts';
import { refuseMissingMigrations } from '../store/core/migrate.ts';
import type { AppContext } from './app-context.ts';
import type { Workers } from './workers.ts';
import { countRestoredPeople } from '../store/gdpr/reconcile-tombstones.ts';

const PART_WITHIN_MS = 2_000;
/** A worker without work polls Temporal once a minute. */
const POLLED_WITHIN_MS = 90_000;
/** Task queue types of Temporal's protocol. Only `flows` has workflows. */
const [WORKFLOWS, ACTIVITIES] = [1, 2];

/** `workers`: those of this process, or null. */
export async function readiness({ db, files, temporal }: AppContext, workers: Workers | null): Promise<Readiness[]> {
  const {
    connection,
    workflowService,
    options: { namespace },
  } = temporal;
  const fromTemporal = <T>(ask: () => Promise<T>) => connection.withDeadline(Date.now() + PART_WITHIN_MS, ask);
  const polledQueue = (queue: TaskQueue) =>
    fromTemporal(() =>
      workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: queue },
        taskQueueType: queue === 'flows' ? WORKFLOWS : ACTIVITIES,
      }),
    );
  const parts = await Promise.all([
    part('postgres', true, db.query('SELECT 1')),
    part('migrations', true, refuseMissingMigrations(db)),
    part('files', true, files.check()),
    part(
      'temporal',
      false,
      fromTemporal(() => workflowService.describeNamespace({ namespace })),
    ),
    ...TASK_QUEUES.map((queue) =>
      workers ? ownWorker(queue, workers) : part(`worker of ${queue}`, false, polledQueue(queue), hasPoller),
    ),
  ]);
  const restored = await Promise.race([restoredReadiness(db), rejectAfter(PART_WITHIN_MS)]).catch(() => []);
  return [...parts, ...restored];
}

async function part<T>(
  name: string,
  required: boolean,
  check: Promise<T>,
  reasonOf: (answer: T) => string | null = () => null,
): Promise<Readiness> {
  try {
    const reason = reasonOf(await Promise.race([check, rejectAfter(PART_WITHIN_MS)]));
    return { name, required, ready: reason === null, ...(reason === null ? {} : { reason }) };
  } catch (error) {
    const isNamed = error instanceof Refusal || error instanceof FileStoreAway;
    return { name, required, ready: false, reason: isNamed ? error.message : 'out of reach' };
  }
}

type Polled = { pollers?: { lastAccessTime?: { seconds?: { toString(): string } | null } | null }[] | null };

function hasPoller({ pollers }: Polled): string | null {
  const polledAt = (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000);
  return polledAt.some((at) => at > Date.now() - POLLED_WITHIN_MS)
    ? null
    : 'no worker has asked for work in the last 90 s';
}

async function rejectAfter(ms: number): Promise<never> {
  await delay(ms, undefined, { ref: false });
  throw new Error(`no answer within ${ms} ms`);
}

/** Names a running repeat of erasures, but is always ready: an absent bucket must not stop the service. */
async function restoredReadiness(db: AppContext['db']): Promise<Readiness[]> {
  const { people, requests } = await countRestoredPeople(db);
  return people === 0
    ? []
    : [
        {
          name: 'people of a restored backup',
          ready: true,
          required: false,
          reason: `${people} who had been erased came back with the database; ${requests} deletion requests erase them again`,
        },
      ];
}

function ownWorker(queue: TaskQueue, workers: Workers): Readiness {
  const ready = workers.polling().includes(queue);
  return {
    name: `worker of ${queue}`,
    ready,
    required: false,
    ...(ready ? {} : { reason: 'starting, or out of reach of Temporal' }),
  };
}
