/** Attempts at steps of jobs: which process has one, and whether that process still lives. */
import type { JobKind } from '../../domain/jobs/job.ts';
import type { NotedAttempt } from '../../domain/jobs/step-attempts.ts';
import { readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { STORED_JOBS } from './jobs.ts';

/** `activity`: Temporal's run and activity, or a deletion's `location`, which several activities try in turn. */
export type JobStep = {
  entityId: number;
  kind: JobKind;
  job: string;
  activity: string;
  attempt: number;
  location?: string;
};

/** First key of the locks of processes; the second is the process, or 0 for the turn of a suspected step. */
const PROCESS_LOCK = 1_297_705_033;
const TURN = 0;

/** Columns of jobs that every attempt changes, however far it comes. */
const NO_PROGRESS = [
  'generation',
  'workflow_run_id',
  'started_at',
  'updated_at',
  'begun_at',
  'attempt',
  'tries',
  'fault',
  'fault_since',
  'failing_since',
  'waits_until',
  'file_key',
  'rows_written',
  'fetched_bytes',
  'fetch_tries',
  'fetch_fault',
  'fetch_failing_since',
  'stage',
  'location_faults',
  'survivors',
  'looked_at',
  'files_before',
  'audience_round',
  'mail_state',
  'mail_tries',
  'mail_reason',
];

const BESIDE: Partial<Record<JobKind, string>> = {
  import: '(SELECT sum(l.next_offset) FROM import_lanes l WHERE l.entity_id = j.entity_id AND l.import_id = j.id)',
  export: '(SELECT count(*) FROM export_files f WHERE f.entity_id = j.entity_id AND f.run_id = j.id)',
  access: `(SELECT count(*) FROM gdpr_request_people p
    WHERE p.entity_id = j.entity_id AND p.request_id = j.id AND p.archive_bytes IS NOT NULL)`,
  campaign: `(SELECT count(*) FROM attempts a WHERE a.entity_id = j.entity_id AND a.send_id = j.id)
    + (SELECT count(*) FROM campaign_audience a WHERE a.entity_id = j.entity_id AND a.send_id = j.id)`,
  send: '(SELECT count(*) FROM attempts a WHERE a.entity_id = j.entity_id AND a.send_id = j.id)',
};

export type FoundAttempt = {
  noted: NotedAttempt | null;
  /** True: its process is gone, not with the database; for syncs also an attempt past its heartbeat. */
  hasDied: boolean;
  /** A hash of how far the job is; null for one that is gone. */
  progress: string | null;
};

/** Finds the attempts at a step, as a process sees them that begins another one. */
export async function findAttempt(
  db: Queryable,
  { entityId, kind, job, activity, location }: JobStep,
  process: number,
): Promise<FoundAttempt> {
  const noted = readRow<NotedAttempt & { hasDied: boolean }>(
    await db.query(
      `SELECT a.attempt, a.process, a.is_alone, a.progress, a.deaths,
       a.process IS NOT NULL AND a.begun_at > pg_postmaster_start_time() AND (a.kind = 'sync' OR a.process <> $5 AND NOT EXISTS (
         SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = ${PROCESS_LOCK} AND l.objid = a.process::bigint::oid
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))) AS has_died
     FROM step_attempts a WHERE a.entity_id = $1 AND a.kind = $2 AND a.job = $3 AND a.activity = $4`,
      [entityId, kind, job, activity, process],
    ),
  );
  const {
    rows: [found],
  } =
    location === undefined
      ? await db.query<{ progress: string }>(
          `SELECT md5((to_jsonb(j) - $3::text[])::text || coalesce((${BESIDE[kind] ?? "''"})::text, '')) AS progress
       FROM ${STORED_JOBS[kind].table} j WHERE j.entity_id = $1 AND j.identifier = $2`,
          [entityId, job, NO_PROGRESS],
        )
      : await db.query<{ progress: string }>(
          `SELECT md5(concat_ws('/', round, erased ->> $3)) AS progress FROM gdpr_requests
       WHERE entity_id = $1 AND identifier = $2`,
          [entityId, job, location],
        );
  return { noted, hasDied: noted?.hasDied ?? false, progress: found?.progress ?? null };
}

/** Does nothing for an entity that is gone. */
export async function upsertAttempt(
  db: Queryable,
  { entityId, kind, job, activity }: JobStep,
  { attempt, process, isAlone, progress, deaths }: NotedAttempt,
): Promise<void> {
  await db.query(
    `INSERT INTO step_attempts (entity_id, kind, job, activity, attempt, process, is_alone, progress, deaths)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE EXISTS (SELECT FROM entities WHERE id = $1)
     ON CONFLICT (entity_id, kind, job, activity) DO UPDATE SET attempt = excluded.attempt, process = excluded.process,
       is_alone = excluded.is_alone, progress = excluded.progress, deaths = excluded.deaths, begun_at = now()`,
    [entityId, kind, job, activity, attempt, process, isAlone, progress, deaths],
  );
}

/** Notes that an attempt has ended; nothing changes if a later one has begun. */
export async function updateAttemptEnded(
  db: Queryable,
  { entityId, kind, job, activity, attempt }: JobStep,
): Promise<void> {
  await db.query(
    `INSERT INTO step_attempts AS a (entity_id, kind, job, activity, attempt)
     SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT FROM entities WHERE id = $1)
     ON CONFLICT (entity_id, kind, job, activity) DO UPDATE SET attempt = excluded.attempt, process = NULL
       WHERE a.attempt <= excluded.attempt`,
    [entityId, kind, job, activity, attempt],
  );
}

export async function deleteAttempts(db: Queryable, { entityId, kind, job, activity }: JobStep): Promise<void> {
  await db.query('DELETE FROM step_attempts WHERE entity_id = $1 AND kind = $2 AND job = $3 AND activity = $4', [
    entityId,
    kind,
    job,
    activity,
  ]);
}

/** Shows that a process lives, as long as this session does. */
export async function lockProcess(session: Queryable, process: number): Promise<void> {
  await session.query('SELECT pg_advisory_lock($1, $2)', [PROCESS_LOCK, process]);
}

/** Takes the turn in which one suspected step runs alone; false if another process has it. Safe to repeat. */
export async function lockTurn(session: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await session.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock($1, ${TURN}) AS taken`, [PROCESS_LOCK]);
  return row!.taken;
}

export async function unlockTurn(session: Queryable): Promise<void> {
  await session.query(`SELECT pg_advisory_unlock($1, ${TURN})`, [PROCESS_LOCK]);
}
