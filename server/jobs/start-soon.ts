import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { JobKind, JobRef } from '../../domain/jobs/job.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

/** How the log names a job of each kind. */
const NAMES: Record<JobKind, { member: string; words: string }> = {
  import: { member: 'import', words: 'an import' },
  sync: { member: 'syncRun', words: 'a run of a sync' },
  export: { member: 'exportRun', words: 'a run of an exporter' },
  access: { member: 'gdprRequest', words: 'a GDPR request' },
  delete: { member: 'gdprRequest', words: 'a GDPR request' },
};
const START_WITHIN_MS = 2_000;

/** A start that fails, or takes long, never fails the request: the job is accepted already, and the sweep starts it. */
export async function startSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, kind: JobKind, ref: JobRef): Promise<void> {
  const { member, words } = NAMES[kind];
  const waiting = new AbortController();
  const started = leftToSweep(log, flows.startJob(kind, ref), { [member]: ref.identifier }, words).finally(() => waiting.abort());
  await Promise.race([started, delay(START_WITHIN_MS, undefined, { signal: waiting.signal }).catch(() => {})]);
}
