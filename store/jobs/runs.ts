// Runs: jobs whose owner, a sync or an exporter, has a schedule. The statements that both kinds share.
import type { JobKey } from '../../domain/jobs/job.ts';
import { columnName, readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { MailState } from '../core/mails.ts';
import { claimJob, endJob, type JobEnd, lockJob, lockJobToCancel, STORED_JOBS } from './jobs.ts';
import type { Owners } from './run-owners.ts';

export type Run = Row<
  'sync_runs',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'scheduledFor'
  | 'state'
  | 'stage'
  | 'generation'
  | 'receivedAt'
  | 'startedAt'
  | 'endedAt'
  | 'tries'
  | 'failingSince'
  | 'fault'
  | 'waitsUntil'
> & {
  failure: { status: string; message: string } | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
  alert: string | null;
};

/** Differences between the runs of features, which activities, routes and commands take with `runsOf`. */
type RunKind<R extends Run, Owner> = {
  kind: 'sync' | 'export';
  owners: Owners<Owner>;
  ownerOf(run: R): number;
  toRun(columns: never): R;
  /** Columns that a claim sets in row `r`, with values from $3 on; null: none. */
  claimed(columns: never, owner: Owner): { set: string; values?: unknown[] } | null;
  /** Finds the run that covers a scheduled time $3, with values from $4 on: condition, order, and columns to set. */
  covering: { where: string; order?: string; set?: string };
  /** Columns that a cancellation sets in row `r`, and statements after a run or all runs of owner $2 ended. */
  canceled: { set: string; afterwards?: string; ofOwner?: string };
  /** A condition on the accepted runs of the schedule that end when their owner is paused; default: all. */
  hasNotBegun?: string;
  ended?: string;
};

export function runsOf<R extends Run, NewRun extends object, Owner>(kind: RunKind<R, Owner>) {
  const reads = readsOf(kind);
  return { ...kind, ...reads, ...locksOf(kind, reads.findById), ...changesOf<R, NewRun, Owner>(kind) };
}

export type Runs<R extends Run, Owner> = Omit<ReturnType<typeof runsOf<R, object, Owner>>, 'insert'>;

export const IS_WAITING = `state = 'accepted' AND cause = 'request'`;

/** On a run that counts the scheduled time $3. */
export const IS_COUNTED = '(coalesce(scheduled_for = $3, false) OR $3 = ANY (covers))';

/** Maximum number of last runs among which one that has not begun, or could cover a time that is due, is found. */
const LAST_RUNS = 50;

function readsOf<R extends Run, Owner>({ kind, toRun }: RunKind<R, Owner>) {
  const { table, owner } = STORED_JOBS[kind];
  return {
    async find(db: Queryable, entityId: number, identifier: string): Promise<R | null> {
      const values = [entityId, identifier];
      return readRow(await db.query(`SELECT * FROM ${table} WHERE entity_id = $1 AND identifier = $2`, values), toRun);
    },

    async findById(db: Queryable, entityId: number, id: number): Promise<R | null> {
      return readRow(await db.query(`SELECT * FROM ${table} WHERE entity_id = $1 AND id = $2`, [entityId, id]), toRun);
    },

    async list(
      db: Queryable,
      entityId: number,
      ownerId: number,
      { offset, limit }: { offset: number; limit: number },
    ): Promise<R[]> {
      return readRows(
        await db.query(
          `SELECT * FROM ${table} WHERE entity_id = $1 AND ${owner} = $2 ORDER BY id DESC OFFSET $3 LIMIT $4`,
          [entityId, ownerId, offset, limit],
        ),
        toRun,
      );
    },

    async count(db: Queryable, entityId: number, ownerId: number): Promise<number> {
      const { rows } = await db.query<{ count: number }>(
        `SELECT count(*) FROM ${table} WHERE entity_id = $1 AND ${owner} = $2`,
        [entityId, ownerId],
      );
      return rows[0]!.count;
    },

    /** Returns a run's identifier by a condition with values from $3 on; null if there is none. */
    async findIdentifier(
      db: Queryable,
      entityId: number,
      ownerId: number,
      where: string,
      values: unknown[] = [],
    ): Promise<string | null> {
      const { rows } = await db.query<{ identifier: string }>(
        `SELECT identifier FROM ${table} WHERE entity_id = $1 AND ${owner} = $2 AND ${where} LIMIT 1`,
        [entityId, ownerId, ...values],
      );
      return rows[0]?.identifier ?? null;
    },
  };
}

type FindById<R> = (db: Queryable, entityId: number, id: number) => Promise<R | null>;

function locksOf<R extends Run, Owner>(
  { kind, owners, ownerOf, toRun, claimed }: RunKind<R, Owner>,
  findById: FindById<R>,
) {
  /** Locks a run; null when another generation has taken over, or it has ended. */
  async function lock(tx: Tx, key: JobKey, states?: string[]): Promise<R | null> {
    const row = await lockJob<never>(tx, kind, key, { states });
    return row && toRun(row);
  }

  async function lockOwner(tx: Tx, entityId: number, jobId: number): Promise<Owner | null> {
    const run = await findById(tx, entityId, jobId);
    return run && owners.lockById(tx, entityId, ownerOf(run));
  }

  return {
    lock,

    /** Does as `lock`, but locks the owner first, as claims and cancellations do; null for a deleted owner. */
    async lockWithOwner(tx: Tx, key: JobKey): Promise<{ run: R; owner: Owner | null } | null> {
      const owner = await lockOwner(tx, key.entityId, key.jobId);
      const run = await lock(tx, key);
      return run && { run, owner };
    },

    /** Does as `claimJob`; null also if the owner is deleted. `first` runs in the transaction that holds the owner. */
    async claim(
      tx: Tx,
      entityId: number,
      jobId: number,
      workflowRunId: string,
      first?: (owner: Owner) => Promise<void>,
    ): Promise<R | null> {
      const owner = await lockOwner(tx, entityId, jobId);
      if (!owner) return null;
      await first?.(owner);
      const row = await claimJob(tx, kind, { entityId, jobId }, workflowRunId);
      const also = row && claimed(row as never, owner);
      if (!also) return row && toRun(row as never);
      return readRow(
        await tx.query(
          `UPDATE ${STORED_JOBS[kind].table} r SET ${also.set} WHERE entity_id = $1 AND id = $2 RETURNING *`,
          [entityId, jobId, ...(also.values ?? [])],
        ),
        toRun,
      );
    },
  };
}

function changesOf<R extends Run, NewRun extends object, Owner>({
  kind,
  toRun,
  covering,
  canceled,
  hasNotBegun = 'true',
  ended,
}: RunKind<R, Owner>) {
  const { table, owner } = STORED_JOBS[kind];
  const cancelWhere = (tx: Queryable, where: string, values: unknown[]) =>
    tx.query(
      `WITH canceled AS (
         UPDATE ${table} r SET state = 'canceled', waits_until = NULL, ${canceled.set}
         WHERE entity_id = $1 AND ${where} RETURNING id)
       ${canceled.afterwards ?? 'SELECT FROM canceled'}`,
      values,
    );

  return {
    /** Null: the owner has a run for that scheduled time already. */
    async insert(tx: Queryable, entityId: number, run: NewRun): Promise<R | null> {
      const given = Object.entries(run).filter(([, value]) => value !== undefined);
      const columns = given.map(([member]) => columnName(member));
      return readRow(
        await tx.query(
          `INSERT INTO ${table} (entity_id, identifier, ${columns.join(', ')})
           VALUES ($1, $2, ${columns.map((_, index) => `$${index + 3}`).join(', ')})
           ON CONFLICT (entity_id, ${owner}, scheduled_for) DO NOTHING RETURNING *`,
          [entityId, newIdentifier('run'), ...given.map(([, value]) => value as unknown)],
        ),
        toRun,
      );
    },

    /** Counts a scheduled time as covered by another run; false if none covers it. Scans back the owner's runs once. */
    async cover(
      tx: Queryable,
      entityId: number,
      ownerId: number,
      scheduledFor: Date,
      ...values: unknown[]
    ): Promise<boolean> {
      const { where, order = 'id', set } = covering;
      const { rowCount } = await tx.query(
        `UPDATE ${table} SET covers = CASE WHEN ${IS_COUNTED} THEN covers ELSE covers || $3::timestamptz END
           ${set === undefined ? '' : `, ${set}`}
         WHERE entity_id = $1 AND id = (
           SELECT id FROM (SELECT * FROM ${table} WHERE entity_id = $1 AND ${owner} = $2 ORDER BY id DESC LIMIT ${LAST_RUNS}) last_runs
           WHERE ${where} ORDER BY ${order} LIMIT 1)`,
        [entityId, ownerId, scheduledFor, ...values],
      );
      return rowCount === 1;
    },

    /** Ends a run, and keeps what it wrote. Null for an unknown one, false for one that has ended. */
    async cancel(tx: Queryable, entityId: number, identifier: string): Promise<R | false | null> {
      const row = await lockJobToCancel<{ id: number; state: string }>(tx, kind, entityId, identifier);
      if (!row) return row;
      await cancelWhere(tx, 'id = $2', [entityId, row.id]);
      return toRun(row as never);
    },

    /** Cancels an owner's scheduled runs that have not begun, or all that have not ended: the owner is deleted. */
    async cancelOf(tx: Queryable, entityId: number, ownerId: number, which: 'scheduled' | 'all'): Promise<void> {
      const some = `state = 'accepted' AND cause = 'schedule' AND ${hasNotBegun}`;
      const all = `state IN ('accepted', 'running')`;
      await cancelWhere(tx, `${owner} = $2 AND ${which === 'all' ? all : some}`, [entityId, ownerId]);
      if (which === 'all' && canceled.ofOwner) await tx.query(canceled.ofOwner, [entityId, ownerId]);
    },

    async end(tx: Queryable, run: Pick<Run, 'entityId' | 'id'>, { state, failure, alert }: JobEnd): Promise<void> {
      const values = [failure?.status ?? null, failure?.message ?? null, alert];
      await endJob(tx, kind, run, state, 'failure_status = $4, failure = $5, alert = $6, waits_until = NULL', values);
      if (ended) await tx.query(ended, [run.entityId, run.id]);
    },
  };
}
