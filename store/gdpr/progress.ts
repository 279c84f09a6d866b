import { Refusal } from '../../domain/core/refusal.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { type GdprRequest, type GdprRequestRow, KEPT_FOR, toGdprRequest } from './request-record.ts';

/** A request as one workflow holds it: a step of an older generation ends without effect. */
export type GdprClaim = JobRef & { generation: number };
/** The same where no identifier is needed. */
export type GdprKey = Omit<GdprClaim, 'identifier'>;

/** The request is another workflow's, has ended, or is no more. */
export class GdprGone extends Refusal {
  constructor() {
    super(409, 'request_gone', 'The request is under way elsewhere, or over.');
  }
}

/**
 * Makes the row this workflow run's; a repeat by the same run succeeds, also of one that was treated and is kept. Null when it is
 * another's, waits for approval, was declined, or is no more.
 */
export async function claimGdprRequest(
  tx: Queryable, { entityId, runId: id }: JobRef, workflowRunId: string,
): Promise<GdprRequest | null> {
  const { rows } = await tx.query<GdprRequestRow>(
    `UPDATE gdpr_requests SET run_id = $3, started_at = coalesce(started_at, now()), updated_at = now(),
       state = CASE state WHEN 'accepted' THEN 'running' ELSE state END
     WHERE entity_id = $1 AND id = $2 AND (state = 'accepted' OR (state IN ('running', 'treated') AND run_id = $3)) RETURNING *`,
    [entityId, id, workflowRunId]);
  return rows[0] ? toGdprRequest(rows[0]) : null;
}

/** Holds a running request until the transaction ends; null when another generation has taken over, or it has ended. */
export async function lockGdprRequest(tx: Tx, { entityId, runId: id, generation }: GdprKey): Promise<GdprRequest | null> {
  const { rows } = await tx.query<GdprRequestRow>(
    `SELECT * FROM gdpr_requests WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' FOR NO KEY UPDATE`,
    [entityId, id, generation]);
  return rows[0] ? toGdprRequest(rows[0]) : null;
}

/** As lockGdprRequest, of a step that can't go on without; throws `GdprGone`. */
export async function holdGdprRequest(tx: Tx, key: GdprKey): Promise<GdprRequest> {
  const held = await lockGdprRequest(tx, key);
  if (!held) throw new GdprGone();
  return held;
}

/** Whether it is still this generation's, and running. */
export async function isGdprCurrent(db: Queryable, { entityId, runId: id, generation }: GdprKey): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM gdpr_requests WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`, [entityId, id, generation]);
  return rowCount === 1;
}

/** What the flow is at, in a word or two; a fault that there was is over. Throws `GdprGone`. */
export async function updateStage(db: Queryable, key: GdprKey, stage: string): Promise<void> {
  await updateCurrent(db, key, 'stage = $4, fault = NULL', [stage]);
}

/** What keeps it, without values. Throws `GdprGone`. */
export async function updateGdprFault(db: Queryable, key: GdprKey, fault: string): Promise<void> {
  await updateCurrent(db, key, 'fault = $4', [fault]);
}

/** So many rows or files went at a place, in the transaction in which they go. Throws `GdprGone`: then nothing goes. */
export async function addErased(tx: Queryable, key: GdprKey, place: string, rows: number): Promise<void> {
  if (rows === 0) return;
  await updateCurrent(tx, key,
    'erased = erased || jsonb_build_object($4::text, coalesce((erased->>$4)::bigint, 0) + $5::bigint), fault = NULL', [place, rows]);
}

/** What a look at all places found. Throws `GdprGone`. */
export async function updateSurvivors(db: Queryable, key: GdprKey, survivors: Record<string, number>): Promise<void> {
  await updateCurrent(db, key, 'survivors = $4, looked_at = now()', [JSON.stringify(survivors)]);
}

/** Nothing that an index has, so that batch after batch changes the row in its page. */
async function updateCurrent(db: Queryable, { entityId, runId: id, generation }: GdprKey, set: string, values: unknown[]): Promise<void> {
  const { rowCount } = await db.query(
    `UPDATE gdpr_requests SET ${set} WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, id, generation, ...values]);
  if (rowCount !== 1) throw new GdprGone();
}

/** Some of its people are at something else: whoever polls for news is told. `tx` holds the request. */
export async function touchRequest(tx: Tx, { entityId, runId: id }: Pick<GdprKey, 'entityId' | 'runId'>): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET updated_at = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/**
 * Of the people of whom nothing was taken yet those on hold are held, the others go on. Tells how many there
 * are of each. `tx` holds the request.
 */
export async function updateHeld(
  tx: Tx, { entityId, runId: id }: GdprKey, held: readonly number[],
): Promise<{ going: number; held: number }> {
  const { rowCount: changed } = await tx.query(
    `UPDATE gdpr_request_people SET state = CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END
     WHERE entity_id = $1 AND request_id = $2 AND round IS NULL AND state IN ('pending', 'held')
       AND state <> CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END`, [entityId, id, held]);
  if (changed! > 0) await touchRequest(tx, { entityId, runId: id });
  const { rows: [counted] } = await tx.query<{ going: number; held: number }>(
    `SELECT count(*) FILTER (WHERE state = 'pending') AS going, count(*) FILTER (WHERE state = 'held') AS held
     FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2`, [entityId, id]);
  return counted!;
}

/** From here on a hold comes too late for those of this round: what is theirs begins to go. `tx` holds the request. */
export async function beginErasing(tx: Tx, { entityId, id, round }: GdprRequest): Promise<void> {
  await tx.query(
    `UPDATE gdpr_request_people SET round = $3 WHERE entity_id = $1 AND request_id = $2 AND state = 'pending' AND round IS NULL`,
    [entityId, id, round]);
}

/**
 * The people of the round are treated, and what they were known by is gone; another round begins where some are left. Tells whether
 * any are. `tx` holds the request.
 */
export async function endRound(tx: Tx, { entityId, id, round }: GdprRequest): Promise<{ isLast: boolean }> {
  const { rows } = await tx.query<{ ordinal: number }>(
    `UPDATE gdpr_request_people SET state = 'treated', treated_at = now()
     WHERE entity_id = $1 AND request_id = $2 AND state = 'pending' AND round = $3 RETURNING ordinal`, [entityId, id, round]);
  await tx.query('DELETE FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)',
    [entityId, id, rows.map(({ ordinal }) => ordinal)]);
  const { rowCount } = await tx.query(
    `UPDATE gdpr_requests SET round = round + 1, erased = '{}', survivors = '{}', looked_at = NULL, stage = NULL, fault = NULL,
       updated_at = now()
     WHERE entity_id = $1 AND id = $2 AND EXISTS (SELECT FROM gdpr_request_people p
       WHERE p.entity_id = $1 AND p.request_id = $2 AND p.state <> 'treated')`, [entityId, id]);
  return { isLast: rowCount === 0 };
}

/** All of its people are treated: it is kept for a week more. Of one that is treated already nothing changes. */
export async function treatRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + ${KEPT_FOR}, updated_at = now(),
       stage = NULL, fault = NULL
     WHERE entity_id = $1 AND id = $2 AND state NOT IN ('treated', 'declined')`, [entityId, id]);
}

/** With its people, their identifiers and its mails. The archives that are files go before. */
export async function deleteGdprRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, id]);
}
