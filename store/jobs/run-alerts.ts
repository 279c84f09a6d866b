/** Alerts about runs, which connections send. */
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { MailState } from '../core/mails.ts';

/** A null state: the alert is not sent yet. */
export type RunAlertOutcome = { connection: string; state: MailState | null; tries: number; reason: string | null };

const RUN_COLUMN = { sync: 'sync_run_id', export: 'export_run_id' } as const;

/** Returns the id of the row that keeps it. Safe to repeat. */
export async function insertRunAlert(
  db: Queryable,
  kind: 'sync' | 'export',
  { entityId, jobId }: { entityId: number; jobId: number },
  connectionId: number,
): Promise<number> {
  const column = RUN_COLUMN[kind];
  const values = [entityId, jobId, connectionId];
  await db.query(
    `INSERT INTO run_alerts (entity_id, ${column}, connection_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    values,
  );
  const { rows } = await db.query<Row<'run_alerts', 'id'>>(
    `SELECT id FROM run_alerts WHERE entity_id = $1 AND ${column} = $2 AND connection_id = $3`,
    values,
  );
  return rows[0]!.id;
}

/** Lists by run, in the order in which they were sent first; runs without any are left out. */
export async function listRunAlerts(
  db: Queryable,
  kind: 'sync' | 'export',
  entityId: number,
  runIds: readonly number[],
): Promise<Map<number, RunAlertOutcome[]>> {
  const column = RUN_COLUMN[kind];
  const { rows } = await db.query<{
    run: number;
    connection: string;
    state: MailState | null;
    tries: number;
    reason: string | null;
  }>(
    `SELECT a.${column} AS run, c.identifier AS connection, a.mail_state AS state, a.mail_tries AS tries, a.mail_reason AS reason
     FROM run_alerts a JOIN connections c ON c.entity_id = a.entity_id AND c.id = a.connection_id
     WHERE a.entity_id = $1 AND a.${column} = ANY ($2) ORDER BY a.id`,
    [entityId, runIds],
  );
  const grouped = Map.groupBy(rows, ({ run }) => run);
  return new Map([...grouped].map(([run, outcomes]) => [run, outcomes.map(({ run: _, ...outcome }) => outcome)]));
}
