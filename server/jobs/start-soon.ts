// Calls of Temporal that follow from a request. A failure never fails the request: the sweep repairs it.
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { type JobKind, type JobRef, logOfJob } from '../../domain/jobs/job.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import type { SendRef } from '../../store/sends/sends.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RouteDependencies } from '../dependencies.ts';

const START_WITHIN_MS = 2_000;

/** Starts a job's workflow. Waits for two seconds at most: the job is accepted already. */
export async function startSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  kind: JobKind,
  ref: JobRef,
): Promise<void> {
  const { fields, name } = logOfJob(kind, ref.identifier);
  const waiting = new AbortController();
  const started = leftToSweep(log, flows.startJob(kind, ref), fields, name).finally(() => waiting.abort());
  await Promise.race([started, delay(START_WITHIN_MS, undefined, { signal: waiting.signal }).catch(() => {})]);
}

export async function refreshSegmentsSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  entityId: number,
): Promise<void> {
  await leftToSweep(log, flows.wakeSegments(entityId), { entityId }, 'the refresh of segments');
}

/** Wakes or starts a send: it settles its messages if it is canceled, and sends those that need not wait. */
export async function wakeSendSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  ref: SendRef,
  what: 'a canceled send' | 'a send whose quiet hours changed',
): Promise<void> {
  await leftToSweep(log, flows.cancelSend(ref), { send: ref.identifier }, what);
}

export async function followSyncSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, sync: Sync): Promise<void> {
  await leftToSweep(log, flows.followSync(sync), { sync: sync.identifier }, 'the schedule of a sync');
}

/** Call it for a deleted exporter with `active: false`. */
export async function followExporterSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  exporter: DataExporter,
): Promise<void> {
  await leftToSweep(
    log,
    flows.followExporter(exporter),
    { exporter: exporter.identifier },
    'the schedule of an exporter',
  );
}

async function leftToSweep(log: FastifyBaseLogger, done: Promise<void>, named: object, what: string): Promise<void> {
  await done.catch((error: unknown) =>
    log.warn({ ...named, ...internalErrorOf(error) }, `${what} is left to the sweep`),
  );
}
