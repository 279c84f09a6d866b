import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { type JobKind, type JobRef, logOfJob } from '../../domain/jobs/job.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import type { SendRef } from '../../store/sends/sends.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RouteDependencies } from '../dependencies.ts';

/**
 * What follows from a request once it is written down. A failure is none of the request, since the sweep makes up for
 * it.
 */

const START_WITHIN_MS = 2_000;

/** A start that takes long is not waited for either: the job is accepted already. */
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

/** A refresh of one of the entity's segments is due. */
export async function refreshSegmentsSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  entityId: number,
): Promise<void> {
  await leftToSweep(log, flows.wakeSegments(entityId), { entityId }, 'the refresh of segments');
}

/** Wakes a send that is canceled, or begins it, so that what it has not sent is settled. */
export async function cancelSendSoon(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  ref: SendRef,
): Promise<void> {
  await leftToSweep(log, flows.cancelSend(ref), { send: ref.identifier }, 'a canceled send');
}

/** Wakes a send whose messages need wait no longer. */
export async function wakeSendSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, ref: SendRef): Promise<void> {
  await leftToSweep(log, flows.cancelSend(ref), { send: ref.identifier }, 'a send whose quiet hours changed');
}

export async function followSyncSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, sync: Sync): Promise<void> {
  await leftToSweep(log, flows.followSchedule(sync), { sync: sync.identifier }, 'the schedule of a sync');
}

/** One that was deleted is followed as one that is not active. */
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
