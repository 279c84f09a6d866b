import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../store/core/database.ts';
import { copyOut } from '../../../store/core/copy-out.ts';
import { exportSession, holdSnapshot, letSnapshotGo } from '../../../store/exports/export-session.ts';
import {
  countExpected,
  countLate,
  type ExportScope,
  findSnapshot,
  isReadAtOnce,
  slicesOf,
} from '../../../store/exports/export-sources.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { copyStore, testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { exportedRows, readExported } from '../../harness/exports/exported-rows.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
  await ensurePartitions(store.db, [Date.UTC(2026, 9), Date.UTC(2026, 10)]);
});

const END = new Date('2027-01-01T00:00:00Z');

const scopeOf = (entityId: number, window: Partial<ExportScope['window']> = {}): ExportScope => ({
  entityId,
  apps: [{ id: 1, identifier: 'app_one' }],
  sors: [],
  format: 'csv',
  window: { kind: 'received', start: null, end: END, ...window },
});

type Times = { happenedAt: string; receivedAt: string };

async function insertEvents(entityId: number, events: readonly Times[]): Promise<void> {
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, received_at, log_type, name, device_id)
     SELECT $1, 1, h, r, 2, 'Tapped', $4 FROM unnest($2::timestamptz[], $3::timestamptz[]) AS given (h, r)`,
    [entityId, events.map(({ happenedAt }) => happenedAt), events.map(({ receivedAt }) => receivedAt), personId(1)],
  );
}

/** Events of two months that lie as they came, in over five slices. */
async function insertManyEvents(entityId: number): Promise<void> {
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, received_at, log_type, name, detail)
     SELECT $1, 1 + i % 11 / 10, '2026-10-25'::timestamptz + i * interval '40 seconds', '2026-11-01'::timestamptz + i * interval '1 ms', 2,
       'Tapped ' || i, '{"a": 1, "b": "two"}'
     FROM generate_series(1, 45000) AS i`,
    [entityId],
  );
}

const ids = async (scope: ExportScope, type: 'logs' | 'sessions' = 'logs') =>
  (await exportedRows(store.db, type, scope)).map((row) => Number(Object.values(row)[0]));

describe('a window', () => {
  it('begins with its start, to the microsecond, and ends before its end', async () => {
    await insertEvents(
      1,
      ['09:59:59.999999', '10:00:00', '10:59:59.999999', '11:00:00'].map((time) => ({
        happenedAt: '2026-11-03T00:00:00Z',
        receivedAt: `2026-11-03T${time}Z`,
      })),
    );
    const all = await ids(scopeOf(1));
    const window = { start: new Date('2026-11-03T10:00:00Z'), end: new Date('2026-11-03T11:00:00Z') };
    expect(await ids(scopeOf(1, window))).toEqual(all.slice(1, 3));
    expect(await ids(scopeOf(1, { end: window.start }))).toEqual(all.slice(0, 1));
  });

  it('over the time of events is told by what they tell, across months', async () => {
    await insertEvents(
      2,
      ['2026-10-31T23:59:59.999Z', '2026-11-01T00:00:00Z', '2026-11-01T23:59:59.999Z', '2026-11-02T00:00:00Z'].map(
        (happenedAt) => ({ happenedAt, receivedAt: '2026-11-05T00:00:00Z' }),
      ),
    );
    const happened = (start: string, end: string) =>
      ids(scopeOf(2, { kind: 'happened', start: new Date(start), end: new Date(end) }));
    const all = await ids(scopeOf(2));
    expect(await happened('2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z')).toEqual(all.slice(1, 3));
    expect(await happened('2026-10-31T23:59:59.999Z', '2026-11-01T00:00:00Z')).toEqual(all.slice(0, 1));
    expect(await ids(scopeOf(2, { kind: 'happened', end: new Date('2026-11-01T00:00:00Z') }))).toEqual(all.slice(0, 1));
  });

  it('and those beside it have each row exactly once', async () => {
    let entityId = 100;
    const start = Date.UTC(2026, 9, 20);
    const moment = fc.integer({ min: 0, max: 20 * 24 * 60 }).map((minutes) => start + minutes * 60_000);
    const event = fc.record({ happened: moment, received: moment, microseconds: fc.integer({ min: 0, max: 999_999 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 60 }),
        fc.array(moment, { maxLength: 4 }),
        fc.constantFrom('received', 'happened'),
        async (events, cuts, kind) => {
          entityId += 1;
          const precise = (at: number, microseconds: number) =>
            new Date(at).toISOString().replace('.000', `.${String(microseconds).padStart(6, '0')}`);
          await insertEvents(
            entityId,
            events.map(({ happened, received, microseconds }) => ({
              happenedAt: precise(happened, microseconds),
              receivedAt: precise(received, microseconds),
            })),
          );
          const bounds = [null, ...cuts.toSorted((a, b) => a - b).map((cut) => new Date(cut)), END];
          const found: number[] = [];
          for (const [at, end] of bounds.slice(1).entries()) {
            found.push(...(await ids(scopeOf(entityId, { kind, start: bounds[at]!, end: end! }))));
          }
          const all = await ids(scopeOf(entityId));
          expect(all).toHaveLength(events.length);
          expect(found.toSorted((a, b) => a - b)).toEqual(all.toSorted((a, b) => a - b));
        },
      ),
      { numRuns: sampledRuns(15) },
    );
  });

  it('loses what changes after it to the next one', async () => {
    await store.db.query(
      `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, received_at, timeout, subject)
       SELECT 3, 1, '2026-11-03', '2026-11-03', '2026-11-03T10:00:00Z', 120, 'u' FROM generate_series(1, 3)`,
    );
    const first = scopeOf(3, { end: new Date('2026-11-04') });
    const next = scopeOf(3, { start: new Date('2026-11-04') });
    const before = await ids(first, 'sessions');
    await store.db.query(
      `UPDATE sessions SET ended_at = '2026-11-03T00:01:00Z', received_at = '2026-11-05' WHERE entity_id = 3 AND id = $1`,
      [before[1]],
    );
    expect(await ids(first, 'sessions')).toEqual([before[0], before[2]]);
    expect(await ids(next, 'sessions')).toEqual([before[1]]);
  });
});

describe('slices', () => {
  const scope = scopeOf(4);
  beforeAll(() => insertManyEvents(4));

  it('go on at each place with the same bytes, and count their rows', async () => {
    for (const type of ['logs', 'details'] as const) {
      const whole = await readExported(store.db, type, scope);
      expect(whole.slices.length).toBeGreaterThan(4);
      expect(whole.rows).toBe(whole.expected);
      expect(whole.rows).toBe(whole.text.split('\n').length - 1);
      for (const [at, { next }] of whole.slices.entries()) {
        const rest = await readExported(store.db, type, scope, JSON.parse(JSON.stringify(next)) as typeof next);
        expect(rest.slices).toEqual(whole.slices.slice(at + 1));
      }
    }
  });

  it('stay as they are whatever else was deleted, and whatever the planner takes the table for', async () => {
    const all = await ids(scope);
    await store.db.query('DELETE FROM events WHERE entity_id = 4 AND id % 3 = 0');
    await vacuum(store.db, 'events');
    expect(await ids(scope)).toEqual(all.filter((id) => id % 3 !== 0));
    const window = { start: new Date('2026-11-01T00:00:12.345Z'), end: new Date('2026-11-01T00:00:12.348Z') };
    expect(await ids(scopeOf(4, window))).toHaveLength(2);
    const plan = await planOf(scopeOf(4, window));
    expect(plan).toContain('Tid Range Scan');
    expect(plan).not.toContain('Index');
  });

  it('are none where nothing lies in the window', async () => {
    expect((await readExported(store.db, 'logs', scopeOf(5))).slices).toEqual([]);
    expect((await readExported(store.db, 'logs', scopeOf(4, { end: new Date('2026-10-01') }))).slices).toEqual([]);
  });

  async function planOf(of: ExportScope): Promise<string> {
    const { session, release } = await exportSession(store.db);
    try {
      for await (const { statement } of slicesOf(session, 'logs', of, null)) {
        const { rows } = await session.query<Record<string, string>>(
          `EXPLAIN ${/^COPY \((.*)\) TO STDOUT/s.exec(statement)![1]}`,
        );
        return rows.map((line) => line['QUERY PLAN']).join('\n');
      }
      return '';
    } finally {
      release();
    }
  }
});

describe('late rows', () => {
  const lateIn = async (
    db: TestStore['db'],
    type: Parameters<typeof countLate>[1],
    of: ExportScope,
    snapshot: string,
  ) => {
    const { session, release } = await exportSession(db);
    try {
      return await countLate(session, type, of, snapshot);
    } finally {
      release();
    }
  };
  const event = (
    name: string,
  ) => `INSERT INTO events (entity_id, app_id, happened_at, received_at, log_type, name, detail)
    VALUES (6, 1, '2026-11-03', '2026-11-03', 1, '${name}', '{"a": 1, "b": 2}')`;

  it('are those of the window that were committed after the snapshot, whenever they say that they came', async () => {
    const scope = scopeOf(6, { end: new Date('2026-11-04') });
    await store.db.query(event('On time'));
    const slow = await store.db.connect();
    await slow.query(`BEGIN; ${event('Begun before, committed after')}`);
    await store.db.query(event('Committed meanwhile'));
    const snapshot = await findSnapshot(store.db);
    expect(await lateIn(store.db, 'logs', scope, snapshot)).toBe(0);
    await slow.query('COMMIT');
    slow.release();
    expect(await lateIn(store.db, 'logs', scope, snapshot)).toBe(1);
    await store.db.query(event('Begun after'));
    await store.db.query('VACUUM FREEZE events');
    expect(await lateIn(store.db, 'logs', scope, snapshot)).toBe(2);
    expect(await lateIn(store.db, 'details', scope, snapshot)).toBe(4);
    expect(await lateIn(store.db, 'crashes', scope, snapshot)).toBe(2);
    expect(await lateIn(store.db, 'locations', scope, snapshot)).toBe(0);
    expect(await lateIn(store.db, 'logs', scopeOf(6, { end: new Date('2026-11-03') }), snapshot)).toBe(0);
    expect(await lateIn(store.db, 'logs', scope, await findSnapshot(store.db))).toBe(0);
  });

  it('are unknown of rows that change, and in a database that was restored', async () => {
    const snapshot = await findSnapshot(store.db);
    expect(await lateIn(store.db, 'sessions', scopeOf(6), snapshot)).toBeNull();
    const copy = await copyStore(store);
    expect(await lateIn(copy.db, 'logs', scopeOf(6), snapshot)).toBeNull();
  });
});

describe('a session for exports', () => {
  it('ends with a stream that is broken off, and leaves the pool as it was', async () => {
    const { session, release } = await exportSession(store.db);
    const {
      rows: [found],
    } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    for await (const bytes of copyOut(
      session,
      `COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT`,
    ).bytes) {
      expect(bytes.length).toBeGreaterThan(0);
      break;
    }
    await expect(session.query('SELECT 1')).rejects.toThrow(/closed|not queryable/);
    release();
    const { rows } = await store.db.query<{ pid: number; timeout: string }>(
      `SELECT pg_backend_pid() AS pid, current_setting('transaction_timeout') AS timeout`,
    );
    expect(rows[0]!.pid).not.toBe(found!.pid);
    expect(rows[0]!.timeout).toBe('30s');
  });

  it('may hold its snapshot for as long as a bucket takes, whatever the database ends others after', async () => {
    const name = new URL(store.url).pathname.slice(1);
    await store.db.query(`ALTER DATABASE ${name} SET idle_in_transaction_session_timeout = 100`);
    const fresh = openDatabase({ url: store.url });
    const { session, release } = await exportSession(fresh);
    await holdSnapshot(session);
    await store.db.query('SELECT pg_sleep(0.5)');
    await expect(letSnapshotGo(session)).resolves.toBeUndefined();
    release();
    await fresh.end();
    await store.db.query(`ALTER DATABASE ${name} RESET idle_in_transaction_session_timeout`);
  });

  it('tells of a statement that fails, before its first row and after', async () => {
    for (const divisor of ['0', 'i - 200000']) {
      const { session, release } = await exportSession(store.db);
      const { bytes, rows } = copyOut(
        session,
        `COPY (SELECT 1 / (${divisor}) FROM generate_series(1, 300000) AS i) TO STDOUT`,
      );
      await expect(Array.fromAsync(bytes)).rejects.toMatchObject({ code: '22012' });
      expect(rows).toThrow(/counted when/);
      release();
    }
  });

  it('tells of a server that goes away', async () => {
    const { session, release } = await exportSession(store.db);
    const {
      rows: [found],
    } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const reading = (async () => {
      for await (const bytes of copyOut(
        session,
        `COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT`,
      ).bytes) {
        if (bytes.length > 0) await store.db.query('SELECT pg_terminate_backend($1, 5000)', [found!.pid]);
      }
    })();
    await expect(reading).rejects.toThrow(/terminat/);
    release();
  });

  it('only reads, and waits for whoever takes its rows', async () => {
    const { session, release } = await exportSession(store.db);
    await expect(session.query('DELETE FROM events')).rejects.toMatchObject({ code: '25006' });
    expect(await countExpected(session, 'logs', scopeOf(5))).toBe(0);
    release();
  });
});

describe('rows of a time that is not over', () => {
  it('are in it once each, however they move while they are read', async () => {
    await store.db.query(
      `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_model)
       SELECT 7, 1, '2026-11-03'::timestamptz + i * interval '1 s', '2026-11-04', 120, 'd' || i, repeat('m', 200)
       FROM generate_series(1, 20000) AS i`,
    );
    // Room at the front for rows to move to.
    await store.db.query(`DELETE FROM sessions WHERE entity_id = 7 AND started_at < '2026-11-03 01:00'`);
    await store.db.query('VACUUM sessions');
    const scope = scopeOf(7, { kind: 'happened', start: new Date('2026-11-03'), end: new Date('2026-11-05') });
    const { session, release } = await exportSession(store.db);
    const seen: string[] = [];
    try {
      if (isReadAtOnce('sessions', scope)) await holdSnapshot(session);
      expect(await countExpected(session, 'sessions', scope)).toBe(16_401);
      for await (const { statement } of slicesOf(session, 'sessions', scope, null)) {
        const text = Buffer.concat(await Array.fromAsync(copyOut(session, statement).bytes)).toString();
        seen.push(
          ...text
            .trimEnd()
            .split('\n')
            .map((line) => line.slice(0, line.indexOf(','))),
        );
        await store.db.query(
          `UPDATE sessions SET ended_at = '2026-11-04 00:01', received_at = now() WHERE entity_id = 7 AND started_at > '2026-11-03 05:00'`,
        );
      }
    } finally {
      release();
    }
    expect(new Set(seen).size).toBe(16_401);
    expect(seen).toHaveLength(16_401);
  });
});
