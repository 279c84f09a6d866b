import { JobGone, type JobKey, type JobKind, type JobRef, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { claimJob, lockJob, updateJob } from '../jobs/jobs.ts';
import { HAS_TURN, lockDeviceRequests } from './device-requests.ts';
import { HOLD_RELEASED } from './holds.ts';
import { type Erasure, TABLES_OF_FILES } from './personal-data-location.ts';
import { type GdprRequest, KEPT_FOR, type RequestColumns, toGdprRequest } from './request-record.ts';

/** Requests for access and for deletion stand in one table. */
const REQUEST: JobKind = 'delete';

/**
 * As `claimJob`, also of one that was treated and is kept. Returns null also for one that waits for approval, was
 * declined, or has to wait for its turn: its stage says so.
 */
export async function claimGdprRequest(db: Database, ref: JobRef, workflowRunId: string): Promise<GdprRequest | null> {
  return write(db, async (tx) => {
    const row = (await hasTurn(tx, ref)) ? await claimJob<RequestColumns>(tx, REQUEST, ref, workflowRunId) : null;
    return row && toGdprRequest(row);
  });
}

async function hasTurn(tx: Tx, { entityId, jobId: id }: JobRef): Promise<boolean> {
  await lockDeviceRequests(tx, entityId); // of two that ask at once, the second sees that the first runs
  const { rowCount } = await tx.query(
    `UPDATE gdpr_requests j SET stage = $3 WHERE j.entity_id = $1 AND j.id = $2 AND j.state = 'accepted' AND NOT ${HAS_TURN}`,
    [entityId, id, WAITING_FOR_SLOT],
  );
  return rowCount === 0;
}

export async function lockGdprRequest(tx: Tx, key: JobKey): Promise<GdprRequest | null> {
  const row = await lockJob<RequestColumns>(tx, REQUEST, key);
  return row && toGdprRequest(row);
}

/** As lockGdprRequest, of a step that can't go on without; throws `JobGone`. */
export async function holdGdprRequest(tx: Tx, key: JobKey): Promise<GdprRequest> {
  const held = await lockGdprRequest(tx, key);
  if (!held) throw new JobGone();
  return held;
}

const NO_FAULT = 'fault = NULL, fault_since = NULL';

/** What the flow is at, in a word or two; an error that there was is over. Throws `JobGone`. */
export async function updateStage(db: Queryable, key: JobKey, stage: string): Promise<void> {
  await updateJob(db, REQUEST, key, `stage = $4, ${NO_FAULT}`, [stage]);
}

/** Until a hold is released, or was since the people on hold were looked for. Throws `JobGone`. */
export async function updateWaitsForHolds(db: Queryable, key: JobKey): Promise<void> {
  await updateJob(db, REQUEST, key, `stage = CASE stage WHEN $4 THEN stage ELSE 'on hold' END, ${NO_FAULT}`, [
    HOLD_RELEASED,
  ]);
}

/** What keeps it, without values. Throws `JobGone`. */
export async function updateGdprError(db: Queryable, key: JobKey, fault: string): Promise<void> {
  await updateJob(db, REQUEST, key, 'fault = $4, fault_since = coalesce(fault_since, now())', [fault]);
}

/** Takes the request from its workflow, until staff start it again. `fault` says why, and replaces its other faults. */
export async function updateGivenUp(db: Queryable, key: JobKey, fault: string): Promise<void> {
  await updateJob(
    db,
    REQUEST,
    key,
    `state = 'accepted', generation = generation + 1, workflow_run_id = NULL, given_up_at = now(), updated_at = now(),
     fault = $4, fault_since = now(), location_faults = '{}'`,
    [fault],
  );
}

/**
 * Names a location that could not be erased, and why, without values; `since` stays that of the first failure. Throws
 * `JobGone`.
 */
export async function updateLocationFault(db: Queryable, key: JobKey, location: string, reason: string): Promise<void> {
  await updateJob(
    db,
    REQUEST,
    key,
    `location_faults = location_faults || jsonb_build_object($4::text, jsonb_build_object(
       'since', coalesce(location_faults -> $4 -> 'since', to_jsonb(now())), 'reason', $5::text))`,
    [location, reason],
  );
}

/** Does nothing for a location without a fault. */
export async function deleteLocationFault(
  db: Queryable,
  { entityId, jobId, generation }: JobKey,
  location: string,
): Promise<void> {
  await db.query(
    `UPDATE gdpr_requests SET location_faults = location_faults - $4
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND location_faults ? $4`,
    [entityId, jobId, generation, location],
  );
}

/**
 * So many rows or files went at a location, in the transaction in which they go. Throws `JobGone`: then nothing goes.
 * Nothing changes that an index has, so that batch after batch changes the row in its page.
 */
export async function addErased(tx: Queryable, key: JobKey, location: string, rows: number): Promise<void> {
  if (rows === 0) return;
  const alsoSet = TABLES_OF_FILES.includes(location) ? ', files_before = NULL' : '';
  await updateJob(
    tx,
    REQUEST,
    key,
    `erased = erased || jsonb_build_object($4::text, coalesce((erased->>$4)::bigint, 0) + $5::bigint), ${NO_FAULT}${alsoSet}`,
    [location, rows],
  );
}

/**
 * Returns what locations need to know of an erasure. `begins`: files are about to be erased, after the tables that they
 * are built from; the time stays the same then until one of these tables has something again. Throws `JobGone`.
 */
export async function findErasure(db: Database, key: JobKey, begins = false): Promise<Erasure> {
  return write(db, async (tx) => {
    const { identifier, round, erased } = await holdGdprRequest(tx, key);
    // Dates have milliseconds: no file that was begun before may count as later.
    const {
      rows: [at],
    } = await tx.query<{ files_before: Date }>(
      `SELECT coalesce(files_before, date_trunc('milliseconds', clock_timestamp()) + interval '1 ms') AS files_before
       FROM gdpr_requests WHERE entity_id = $1 AND id = $2`,
      [key.entityId, key.jobId],
    );
    const filesBefore = at!.files_before;
    if (begins) await updateJob(tx, REQUEST, key, 'files_before = $4', [filesBefore]);
    return {
      round: `${identifier}/${round}`,
      wasInTables: TABLES_OF_FILES.some((table) => (erased[table] ?? 0) > 0),
      filesBefore,
    };
  });
}

/** What a look at all locations found. Throws `JobGone`. */
export async function updateSurvivors(db: Queryable, key: JobKey, survivors: Record<string, number>): Promise<void> {
  await updateJob(db, REQUEST, key, 'survivors = $4, looked_at = now()', [JSON.stringify(survivors)]);
}

/** Some of its people are at something else: whoever polls for news is told. `tx` holds the request. */
export async function touchRequest(tx: Tx, { entityId, jobId: id }: Pick<JobKey, 'entityId' | 'jobId'>): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET updated_at = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/**
 * Of the people of whom nothing was taken yet those on hold are held, the others go on. Tells how many there
 * are of each. `tx` holds the request.
 */
export async function updateHeld(
  tx: Tx,
  { entityId, jobId: id }: JobKey,
  held: readonly number[],
): Promise<{ going: number; held: number }> {
  const { rowCount: changed } = await tx.query(
    `UPDATE gdpr_request_people SET state = CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END
     WHERE entity_id = $1 AND request_id = $2 AND round IS NULL AND state IN ('pending', 'held')
       AND state <> CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END`,
    [entityId, id, held],
  );
  if (changed! > 0) await touchRequest(tx, { entityId, jobId: id });
  const {
    rows: [counted],
  } = await tx.query<{ going: number; held: number }>(
    `SELECT count(*) FILTER (WHERE state = 'pending') AS going, count(*) FILTER (WHERE state = 'held') AS held
     FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2`,
    [entityId, id],
  );
  return counted!;
}

/** From here on a hold comes too late for those of this round: what is theirs begins to go. `tx` holds the request. */
export async function beginErasing(tx: Tx, { entityId, id, round }: GdprRequest): Promise<void> {
  await tx.query(
    `UPDATE gdpr_request_people SET round = $3 WHERE entity_id = $1 AND request_id = $2 AND state = 'pending' AND round IS NULL`,
    [entityId, id, round],
  );
  await tx.query('UPDATE gdpr_requests SET erasing_since = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Since when the round of a request erases; null of one that began before this was noted. */
export async function findErasingSince(
  db: Queryable,
  { entityId, jobId }: Pick<JobKey, 'entityId' | 'jobId'>,
): Promise<Date | null> {
  const rows = readRows<Row<'gdpr_requests', 'erasingSince'>>(
    await db.query('SELECT erasing_since FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, jobId]),
  );
  return rows[0]?.erasingSince ?? null;
}

/**
 * The people of the round are treated, and what they were known by is gone; another round begins where some are left.
 * Tells whether any are. `tx` holds the request.
 */
export async function endRound(tx: Tx, { entityId, id, round }: GdprRequest): Promise<{ isLast: boolean }> {
  const { rows } = await tx.query<Row<'gdpr_request_people', 'ordinal'>>(
    `UPDATE gdpr_request_people SET state = 'treated', treated_at = now()
     WHERE entity_id = $1 AND request_id = $2 AND state = 'pending' AND round = $3 RETURNING ordinal`,
    [entityId, id, round],
  );
  await tx.query('DELETE FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)', [
    entityId,
    id,
    rows.map(({ ordinal }) => ordinal),
  ]);
  const { rowCount } = await tx.query(
    `UPDATE gdpr_requests SET round = round + 1, erased = '{}', survivors = '{}', looked_at = NULL, stage = NULL, ${NO_FAULT},
       location_faults = '{}', files_before = NULL, updated_at = now()
     WHERE entity_id = $1 AND id = $2 AND EXISTS (SELECT FROM gdpr_request_people p
       WHERE p.entity_id = $1 AND p.request_id = $2 AND p.state <> 'treated')`,
    [entityId, id],
  );
  return { isLast: rowCount === 0 };
}

/** All of its people are treated: it is kept for a week more. Of one that is treated already nothing changes. */
export async function treatRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + ${KEPT_FOR}, updated_at = now(),
       stage = NULL, ${NO_FAULT}, location_faults = '{}'
     WHERE entity_id = $1 AND id = $2 AND state NOT IN ('treated', 'declined')`,
    [entityId, id],
  );
}

/** With its people, their identifiers and its mails. The archives that are files go after the commit. */
export async function deleteGdprRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, id]);
}
