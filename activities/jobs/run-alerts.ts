// The mail about a run, and its alerts to connections: sends each once.
import type { Alert } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { mayPassByItself } from '../../domain/jobs/patience.ts';
import type { RunMail, RunReport } from '../../domain/jobs/run-mail.ts';
import { insertRunAlert } from '../../store/jobs/run-alerts.ts';
import { findConnection } from '../../store/syncs/connections.ts';
import { mailOnce, sendAll, sendOnce, type Sent } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { NO_ANSWER, openConnection, sendingContext } from '../syncs/open-connection.ts';

/** A run whose alert is sent, by its kind. */
type AlertedRun = { kind: 'sync' | 'export'; entityId: number; jobId: number };

/** Who learns of a run, and what: addresses by mail, connections by an alert. `owner`: its identifier. */
type RunAlerts = {
  to: string[];
  connections: readonly string[];
  owner: string;
  report: RunReport<Alert['alert']>;
  mail: RunMail;
};

/** Sends the mail and the alerts of a run side by side; returns when the first of them is to be tried again. */
export async function sendRunAlerts(
  deps: Dependencies,
  run: AlertedRun,
  { to, connections, owner, report, mail }: RunAlerts,
): Promise<RetryAfter | null> {
  const { kind, entityId, jobId } = run;
  const { runId: identifier, alert, failure, link, endedAt } = report;
  const { line, ...content } = mail;
  const mailed = { table: `${kind}_runs`, entityId, id: jobId, identifier } as const;
  const told: Alert = {
    kind: kind === 'sync' ? 'sync' : 'exporter',
    identifier: owner,
    run: identifier,
    alert,
    failure,
    text: line,
    link,
    ended_at: endedAt,
  };
  return sendAll([
    ...(to.length === 0 ? [] : [mailOnce(deps, mailed, { to, ...content }, kind)]),
    ...connections.map((connection) => alertOne(deps, run, connection, told)),
  ]);
}

async function alertOne(
  deps: Dependencies,
  { kind, ...run }: AlertedRun,
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
