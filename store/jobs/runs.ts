// Runs: jobs whose owner, a sync or an exporter, has a schedule. The statements that both kinds share.
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { lockJob, lockJobToCancel, STORED_JOBS } from './jobs.ts';

type Finds<T, Key> = (db: Queryable, entityId: number, key: Key) => Promise<T | null>;

/** What tells the runs of a feature apart. */
type RunKind<Run, Owner> = {
  kind: 'sync' | 'export';
  owners: { lock: Finds<Owner, string>; findById: Finds<Owner, number>; lockById: Finds<Owner, number> };
  ownerOf(run: Run): number;
  /** Makes a run of the columns of its row. */
  toRun(columns: never): Run;
  /** What a cancellation sets in a row `r`, and a statement about the rows that it `canceled`, by their ids. */
  canceled: { set: string; afterwards?: string };
  /** A condition on the accepted runs of the schedule that end when their owner is paused; default: all. */
  hasNotBegun?: string;
};

/** Returns the statements of one kind of runs. */
export function runsOf<Run, NewRun extends object, Owner>({
  kind,
  owners,
  ownerOf,
  toRun,
  canceled,
  hasNotBegun = 'true',
}: RunKind<Run, Owner>) {
  const { table, owner } = STORED_JOBS[kind];
  const reads = readsOf(kind, toRun);
  const cancelWhere = (tx: Queryable, where: string, values: unknown[]) =>
    tx.query(
      `WITH canceled AS (
         UPDATE ${table} r SET state = 'canceled', waits_until = NULL, ${canceled.set}
         WHERE entity_id = $1 AND ${where} RETURNING id)
       ${canceled.afterwards ?? 'SELECT FROM canceled'}`,
      values,
    );

  /** Holds a run until the transaction ends. Null when another generation has taken over, or it has ended. */
  async function lock(tx: Tx, key: JobKey, states?: string[]): Promise<Run | null> {
    const row = await lockJob<never>(tx, kind, key, { states });
    return row && toRun(row);
  }

  async function lockOwner(tx: Tx, entityId: number, jobId: number): Promise<Owner | null> {
    const run = await reads.findById(tx, entityId, jobId);
    return run && owners.lockById(tx, entityId, ownerOf(run));
  }

  return {
    kind,
    owners,
    ownerOf,

    /** Null: the owner has a run for that scheduled time already. */
    async insert(tx: Queryable, entityId: number, run: NewRun): Promise<Run | null> {
      const given = Object.entries(run).filter(([, value]) => value !== undefined);
      const columns = given.map(([name]) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
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

    ...reads,

    lock,

    /** Holds the owner of a run, and returns it; null if it is deleted, or there is no such run. */
    lockOwner,

    /** As `lock`, and holds its owner before it, as claims and cancellations do. */
    async lockWithOwner(tx: Tx, key: JobKey): Promise<{ run: Run; owner: Owner | null } | null> {
      const owner = await lockOwner(tx, key.entityId, key.jobId);
      const run = await lock(tx, key);
      return run && { run, owner };
    },

    /** Ends a run where it stands: what it wrote stays. Null for an unknown one, false for one that has ended. */
    async cancel(tx: Queryable, entityId: number, identifier: string): Promise<Run | false | null> {
      const row = await lockJobToCancel<{ id: number; state: string }>(tx, kind, entityId, identifier);
      if (!row) return row;
      await cancelWhere(tx, 'id = $2', [entityId, row.id]);
      return toRun(row as never);
    },

    /** Cancels the runs of an owner's schedule that have not begun, or all that have not ended. */
    async cancelOf(tx: Queryable, entityId: number, ownerId: number, which: 'scheduled' | 'all'): Promise<void> {
      const some = `state = 'accepted' AND cause = 'schedule' AND ${hasNotBegun}`;
      const all = `state IN ('accepted', 'running')`;
      await cancelWhere(tx, `${owner} = $2 AND ${which === 'all' ? all : some}`, [entityId, ownerId]);
    },
  };
}

/** On a run that was asked for and has not begun. */
export const IS_WAITING = `state = 'accepted' AND cause = 'request'`;

export type Runs<Run, Owner> = Omit<ReturnType<typeof runsOf<Run, object, Owner>>, 'insert'>;

function readsOf<Run>(kind: 'sync' | 'export', toRun: (columns: never) => Run) {
  const { table, owner } = STORED_JOBS[kind];
  return {
    async find(db: Queryable, entityId: number, identifier: string): Promise<Run | null> {
      const values = [entityId, identifier];
      return readRow(await db.query(`SELECT * FROM ${table} WHERE entity_id = $1 AND identifier = $2`, values), toRun);
    },

    async findById(db: Queryable, entityId: number, id: number): Promise<Run | null> {
      return readRow(await db.query(`SELECT * FROM ${table} WHERE entity_id = $1 AND id = $2`, [entityId, id]), toRun);
    },

    /** The runs of an owner, newest first. */
    async list(
      db: Queryable,
      entityId: number,
      ownerId: number,
      { offset, limit }: { offset: number; limit: number },
    ): Promise<Run[]> {
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

    /**
     * The identifier of a run of an owner for which a condition holds, with values from $3 on; null if there is none.
     */
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
