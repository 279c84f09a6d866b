// Steps that runs of syncs and exporters share: claim, wait or fail, end, and send alerts.
import type { Alert } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { JobClaim, JobKey, JobRef } from '../../domain/jobs/job.ts';
import { mayPassByItself, nextTry } from '../../domain/jobs/patience.ts';
import type { RunMail, RunReport } from '../../domain/jobs/run-mail.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findNextJob, updateRunTrouble } from '../../store/jobs/jobs.ts';
import { insertRunAlert } from '../../store/jobs/run-alerts.ts';
import type { Run, Runs } from '../../store/jobs/runs.ts';
import { findConnection } from '../../store/syncs/connections.ts';
import { startJob } from '../../temporal/flows.ts';
import { mailOnce, sendOnce, type Sent } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { NO_ANSWER, openConnection, sendingContext } from '../syncs/open-connection.ts';

/** A sync or an exporter. */
type Owner = {
  entityId: number;
  id: number;
  identifier: string;
  failures: number;
  paused: { reason: string } | null;
};
type Failure = Run['failure'];

/**
 * Claims a run for this workflow run; null if another has it, it has ended, or an earlier run of its owner must end
 * first. `first` runs in the same transaction, before the claim.
 */
export async function claimRun<R extends Run, O>(
  deps: Dependencies,
  runs: Runs<R, O>,
  { entityId, jobId }: JobRef,
  workflowRunId: string,
  first?: (tx: Tx, owner: O) => Promise<void>,
): Promise<R | null> {
  const claimed = await write(deps.db, (tx) =>
    runs.claim(tx, entityId, jobId, workflowRunId, async (owner) => first?.(tx, owner)),
  );
  deps.boundary(`${runs.kind}: claimed`);
  return claimed;
}

/** Maximum length of the text that a run keeps of a refusal. */
const MAX_CHARS = 2_000;

/** Differences between kinds of runs when an outside system refuses. */
type Refused<R extends Run> = {
  /** Returns the failed tries before this one; none if the run has made progress since. */
  before?(run: R): Parameters<typeof nextTry>[1];
  /** Number of tries, in all, of a final refusal; default 1. */
  finalTries?: number;
  /** Commits more with the wait. */
  alongside?(tx: Tx, run: R): Promise<void>;
  /** Ends the run as failed. */
  fail(failure: NonNullable<Failure>): Promise<unknown>;
};

/**
 * Returns the wait before a run's next try; null if it has ended, or ends as failed now, with a reason for its owner.
 * Removes `secrets` from the reason, which may quote the outside system.
 */
export async function waitOrFail<R extends Run, O>(
  deps: Dependencies,
  runs: Runs<R, O>,
  key: JobKey,
  refusal: Refusal,
  secrets: Parameters<typeof redacted>[1],
  { before = (run) => run, finalTries, alongside, fail }: Refused<R>,
): Promise<RetryAfter | null> {
  const message = shorten(redacted(refusal.message, secrets), MAX_CHARS);
  const waiting = await write(deps.db, async (tx) => {
    const run = await runs.lock(tx, key);
    if (!run) return 'gone';
    const next = nextTry(refusal, before(run), { now: new Date(), patienceMs: deps.patienceMs, finalTries });
    if (next === null) return null;
    await updateRunTrouble(tx, runs.kind, run, next, message);
    await alongside?.(tx, run);
    return { againInMs: next.waitMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await fail({ status: String(refusal.status), message });
  return waiting;
}

/**
 * Ends a run as finished, or as failed for a reason that its owner reads. `settle` updates the owner in the same
 * transaction, and returns the alert to send. Returns null if another workflow has the run, or it has ended.
 */
export async function endRun<R extends Run, O>(
  deps: Pick<Dependencies, 'db' | 'boundary'>,
  runs: Runs<R, O>,
  key: JobKey,
  failure: Failure,
  settle: (tx: Tx, run: R, owner: O | null) => Promise<R['alert']>,
): Promise<R | null> {
  const ended = await write(deps.db, async (tx) => {
    const held = await runs.lockWithOwner(tx, key);
    if (!held) return null;
    const alert = await settle(tx, held.run, held.owner);
    await runs.end(tx, held.run, { state: failure ? 'failed' : 'finished', failure, alert });
    deps.boundary(`${runs.kind}: before the end commits`);
    return held.run;
  });
  deps.boundary(`${runs.kind}: after the end committed`);
  return ended;
}

/** Counts one more failure in a row, and pauses the owner if there are `pauseAfter`. Returns the alert to send. */
export async function countFailure<R extends Run, O extends Owner>(
  tx: Tx,
  runs: Runs<R, O>,
  { entityId, id, paused, ...owner }: O,
  { pauseAfter, reasonOf }: { pauseAfter: number | null; reasonOf: (failures: number) => string },
): Promise<'paused' | 'failed' | null> {
  const failures = owner.failures + 1;
  await runs.owners.updateFailures(tx, entityId, id, failures);
  if (pauseAfter !== null && failures >= pauseAfter && !paused) {
    await runs.owners.updatePaused(tx, entityId, id, reasonOf(failures));
    await runs.cancelOf(tx, entityId, id, 'scheduled');
    return 'paused';
  }
  return failures === 1 ? 'failed' : null;
}

/** Starts the owner's next run after one that has ended. Returns whether there are alerts to send. */
export async function startNextRun<R extends Run, O>(
  deps: Pick<Dependencies, 'db' | 'temporal'>,
  runs: Runs<R, O>,
  run: R | null,
  { generation }: JobClaim,
): Promise<{ mails: boolean }> {
  const next = run && (await findNextJob(deps.db, runs.kind, run.entityId, runs.ownerOf(run)));
  if (next) await startJob(deps.temporal, runs.kind, next);
  return { mails: run?.generation === generation && run.alert !== null };
}

/** Recipients of a run's report: addresses by mail, connections by an alert. */
type RunAlerts = { to: string[]; connections: readonly string[]; report: RunReport<Alert['alert']>; mail: RunMail };

type AlertedRun<R extends Run> = R & { alert: NonNullable<R['alert']> };
/** Members that the reports of both kinds of runs share. */
type CommonReport = Pick<RunReport<never>, 'runId' | 'failure' | 'startedAt' | 'endedAt'>;

/** Sends the mail and the alerts of a run side by side; returns when to retry the first of them. */
export async function sendRunAlerts<R extends Run, O extends Owner>(
  deps: Dependencies,
  runs: Runs<R, O>,
  { entityId, jobId }: Omit<JobKey, 'generation'>,
  describe: (owner: O, run: AlertedRun<R>, common: CommonReport) => Promise<RunAlerts> | RunAlerts,
): Promise<RetryAfter | null> {
  const run = await runs.findById(deps.db, entityId, jobId);
  const owner = run && (await runs.owners.findById(deps.db, entityId, runs.ownerOf(run)));
  if (!owner || run.alert === null) return null;
  const { kind } = runs;
  const { identifier, failure, startedAt, endedAt, receivedAt } = run;
  const common = {
    runId: identifier,
    failure: failure?.status ?? null,
    startedAt: (startedAt ?? receivedAt).toISOString(),
    endedAt: (endedAt ?? receivedAt).toISOString(),
  };
  const { to, connections, report, mail } = await describe(owner, run as AlertedRun<R>, common);
  const { line: text, ...content } = mail;
  const mailed = { table: `${kind}_runs`, entityId, id: jobId, identifier } as const;
  const alert: Alert = {
    kind: kind === 'sync' ? 'sync' : 'exporter',
    identifier: owner.identifier,
    run: identifier,
    alert: report.alert,
    failure: report.failure,
    text,
    link: report.link,
    ended_at: report.endedAt,
  };
  return sendAll([
    ...(to.length === 0 ? [] : [mailOnce(deps, mailed, { to, ...content }, kind)]),
    ...connections.map((connection) => alertOne(deps, kind, { entityId, jobId }, connection, alert)),
  ]);
}

async function alertOne(
  deps: Dependencies,
  kind: 'sync' | 'export',
  run: Omit<JobKey, 'generation'>,
  identifier: string,
  alert: Alert,
): Promise<RetryAfter | null> {
  const connection = await findConnection(deps.db, run.entityId, identifier);
  if (!connection) return null;
  const id = await insertRunAlert(deps.db, kind, run, connection.id);
  return sendOnce(
    deps,
    { table: 'run_alerts', entityId: run.entityId, id },
    { recipients: 0, name: `${kind}: alert` },
    () => send(deps, run.entityId, connection.id, alert),
  );
}

async function send(deps: Dependencies, entityId: number, connectionId: number, alert: Alert): Promise<Sent> {
  let secrets = {};
  const context = sendingContext(deps, entityId);
  try {
    const { connector, settings, secretSettings } = await openConnection(deps, entityId, connectionId);
    secrets = secretSettings;
    await connector.alerts!.send(settings, alert, context);
    return { outcome: 'sent', reason: null, isRetryable: false };
  } catch (error) {
    if (context.signal.aborted) return { outcome: 'unknown', reason: NO_ANSWER, isRetryable: false };
    if (!(error instanceof Refusal)) throw error;
    const { retry_after: seconds } = error.extra;
    return {
      outcome: 'not_sent',
      reason: redacted(error.message, secrets),
      isRetryable: mayPassByItself(error),
      ...(typeof seconds === 'number' ? { retryAfterMs: seconds * 1_000 } : {}),
    };
  }
}

/** Waits for all sends, even if one throws; returns when to try the first of them again. */
async function sendAll(sends: readonly Promise<RetryAfter | null>[]): Promise<RetryAfter | null> {
  await Promise.allSettled(sends);
  const due = (await Promise.all(sends)).filter((wait) => wait !== null);
  return due.length === 0 ? null : { againInMs: Math.min(...due.map(({ againInMs }) => againInMs)) };
}
