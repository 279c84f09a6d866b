import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { type JobKind, type JobRef, logOfJob } from '../../domain/jobs/job.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

const START_WITHIN_MS = 2_000;

/** A start that fails, or takes long, never fails the request: the job is accepted already, and the sweep starts it. */
export async function startSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, kind: JobKind, ref: JobRef): Promise<void> {
  const { fields, name } = logOfJob(kind, ref.identifier);
  const waiting = new AbortController();
  const started = leftToSweep(log, flows.startJob(kind, ref), fields, name).finally(() => waiting.abort());
  await Promise.race([started, delay(START_WITHIN_MS, undefined, { signal: waiting.signal }).catch(() => {})]);
}
