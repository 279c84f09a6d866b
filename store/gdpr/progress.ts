/** How far a request has come: claim, stage, faults, counts of erased rows, rounds, end. */
import { JobGone, type JobKey, type JobKind, type JobRef, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { claimJob, lockJob, updateJob } from '../jobs/jobs.ts';
import { HAS_TURN, lockDeviceRequests } from './device-requests.ts';
import { type Erasure, TABLES_OF_FILES } from './personal-data-location.ts';
import { HOLD_RELEASED, type GdprRequest, KEPT_FOR, type RequestColumns, toGdprRequest } from './request-record.ts';

/** The kind of job of both types of request, which share a table. */
const REQUEST: JobKind = 'delete';

/** Claims a request as `claimJob` does, also a treated one. Null also for one that waits or was declined. */
export async function claimRequest(db: Database, ref: JobRef, workflowRunId: string): Promise<GdprRequest | null> {
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

/** Locks the request, and throws `JobGone` if another workflow has it or it is deleted. */
export async function holdGdprRequest(tx: Tx, key: JobKey): Promise<GdprRequest> {
  const held = await lockGdprRequest(tx, key);
  if (!held) throw new JobGone();
  return held;
}

const NO_FAULT = 'fault = NULL, fault_since = NULL';

/** Stores what the flow does, in a word or two, and clears its fault. Throws `JobGone`. */
export async function updateStage(db: Queryable, key: JobKey, stage: string): Promise<void> {
  await updateJob(db, REQUEST, key, `stage = $4, ${NO_FAULT}`, [stage]);
}

/** Stores that the request waits for holds, unless one was released since holds were applied. Throws `JobGone`. */
export async function waitForHolds(db: Queryable, key: JobKey): Promise<void> {
  await updateJob(db, REQUEST, key, `stage = CASE stage WHEN $4 THEN stage ELSE 'on hold' END, ${NO_FAULT}`, [
    HOLD_RELEASED,
  ]);
}

/** Stores what keeps the request, without values. Throws `JobGone`. */
export async function updateGdprError(db: Queryable, key: JobKey, fault: string): Promise<void> {
  await updateJob(db, REQUEST, key, 'fault = $4, fault_since = coalesce(fault_since, now())', [fault]);
}

/** Gives up the request until staff start it again. `fault` says why, and replaces its other faults. */
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

/** Stores why a location could not be erased (`eraseLocation`, `giveUpLocation`); null: it was. Throws `JobGone`. */
export async function updateLocationFault(
  db: Queryable,
  key: JobKey,
  location: string,
  reason: string | null,
): Promise<void> {
  if (reason === null) return deleteLocationFault(db, key, location);
  await updateJob(
    db,
    REQUEST,
    key,
    `location_faults = location_faults || jsonb_build_object($4::text, jsonb_build_object(
       'since', coalesce(location_faults -> $4 -> 'since', to_jsonb(now())), 'reason', $5::text))`,
    [location, reason],
  );
}

async function deleteLocationFault(
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
 * Adds to the count of a location, in the transaction that erases. Throws `JobGone`, which rolls that back. Changes no
 * indexed column, so that the row stays in its page.
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
 * Returns what locations need to know about an erasure. `begins`: files are erased next; the time then stays until a
 * table that they are built from has something again. Throws `JobGone`.
 */
export async function findErasure(db: Database, key: JobKey, begins = false): Promise<Erasure> {
  return write(db, async (tx) => {
    const { identifier, round, erased } = await holdGdprRequest(tx, key);
    // Dates have milliseconds: an earlier file must not count as later.
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

/** Stores what a scan of all locations found (`listSurvivors`). Throws `JobGone`. */
export async function updateSurvivors(db: Queryable, key: JobKey, survivors: Record<string, number>): Promise<void> {
  await updateJob(db, REQUEST, key, 'survivors = $4, looked_at = now()', [JSON.stringify(survivors)]);
}

/** Sets `updated_at` for pollers. `tx` holds the request. */
export async function touchRequest(tx: Tx, { entityId, jobId: id }: Pick<JobKey, 'entityId' | 'jobId'>): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET updated_at = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Begins the erasure of this round's people: a later hold comes too late for them. `tx` holds the request. */
export async function beginErasing(tx: Tx, { entityId, id, round }: GdprRequest): Promise<void> {
  await tx.query(
    `UPDATE gdpr_request_people SET round = $3 WHERE entity_id = $1 AND request_id = $2 AND state = 'pending' AND round IS NULL`,
    [entityId, id, round],
  );
  await tx.query('UPDATE gdpr_requests SET erasing_since = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Returns since when the round erases; null for a round of a version that did not store it. */
export async function findErasingSince(
  db: Queryable,
  { entityId, jobId }: Pick<JobKey, 'entityId' | 'jobId'>,
): Promise<Date | null> {
  const rows = readRows<Row<'gdpr_requests', 'erasingSince'>>(
    await db.query('SELECT erasing_since FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, jobId]),
  );
  return rows[0]?.erasingSince ?? null;
}

/** Marks the round's people as treated, and begins another round if people are left. `tx` holds the request. */
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

export async function treatRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET state = 'treated', treated_at = now(), expires_at = now() + ${KEPT_FOR}, updated_at = now(),
       stage = NULL, ${NO_FAULT}, location_faults = '{}'
     WHERE entity_id = $1 AND id = $2 AND state NOT IN ('treated', 'declined')`,
    [entityId, id],
  );
}

/** Deletes a request with its people, ids and mails (`discardRequest`). Its archives go after the commit. */
export async function deleteGdprRequest(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, id]);
}
