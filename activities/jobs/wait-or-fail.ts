import { redacted } from '../../connectors/core/redacted.ts';
import type { Refusal } from '../../domain/core/refusal.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { nextTry } from '../../domain/jobs/patience.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { type JobEnd, updateRunTrouble } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

type Troubled = { entityId: number; id: number } & Parameters<typeof nextTry>[1];

/** Differences between runs of syncs and of exporters when an outside system refuses. */
type Refused<Run> = {
  kind: 'sync' | 'export';
  lock(tx: Tx, key: JobKey): Promise<Run | null>;
  /** The tries that failed before this one; none if the run has made progress since. */
  before?(run: Run): Parameters<typeof nextTry>[1];
  /** How often a final refusal is tried in all; default 1. */
  finalTries?: number;
  /** Commits more with the wait. */
  alongside?(tx: Tx, run: Run): Promise<void>;
  /** Ends the run as failed. */
  fail(failure: NonNullable<JobEnd['failure']>): Promise<unknown>;
};

/** Maximum length of the text that a run keeps of a refusal. */
const MAX_CHARS = 2_000;

/**
 * Returns how long a run waits before its next try; null if it has ended, or ends as failed now, with the reason for
 * its owner. `secrets` are taken out of the text, should the outside system have quoted one.
 */
export async function waitOrFail<Run extends Troubled>(
  deps: Dependencies,
  key: JobKey,
  refusal: Refusal,
  secrets: Parameters<typeof redacted>[1],
  { kind, lock, before = (run) => run, finalTries, alongside, fail }: Refused<Run>,
): Promise<RetryAfter | null> {
  const message = shorten(redacted(refusal.message, secrets), MAX_CHARS);
  const waiting = await write(deps.db, async (tx) => {
    const run = await lock(tx, key);
    if (!run) return 'gone';
    const next = nextTry(refusal, before(run), { now: new Date(), patienceMs: deps.patienceMs, finalTries });
    if (next === null) return null;
    await updateRunTrouble(tx, kind, run, next, message);
    await alongside?.(tx, run);
    return { againInMs: next.waitMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await fail({ status: String(refusal.status), message });
  return waiting;
}
