/** Counts funnels: reads each person's events in parallel sessions, and follows their chains. */

import type { QueryResult } from 'pg';
import { type ChainRules, FunnelChains } from '../../domain/analytics/funnel-chains.ts';
import type { Row } from '../core/camel-row.ts';
import { type Database, endingOn, type Tx } from '../core/database.ts';
import { TimeSlice } from '../core/yield-to-event-loop.ts';
import { countedSql, type FunnelQuery, funnelSql, parameters, type Shard } from './funnel-sql.ts';

/** The people who completed a step: their number, their seconds since step 0 in all, and when the last one did. */
export type StepTotal = { people: number; seconds: number; lastAt: Date | null };
/** Totals of one value of the breakdown, or of all people. */
type FunnelTotals = { property: string | null; steps: StepTotal[] };
/** Events of a kind after a step. */
type Followed = Row<'events', 'appId' | 'logType' | 'name'> & { people: number; seconds: number };

/** Maximum number of values of a breakdown. */
export const MAX_PROPERTIES = 1_000;

/** Number of a person's events that come as one value; those of a person with more, mostly a robot, come one by one. */
const MAX_EVENTS_AT_ONCE = 5_000;
/** Number of people in a page, which has at most 8 MB and mostly a five hundredth of it. */
const PEOPLE_PER_PAGE = 100;
const EVENTS_PER_PAGE = 10_000;

/**
 * Counts the people who completed each step; null if the property has too many values. Postgres sorts the events and
 * returns each person's: its window functions would take half of its time to find the chains. At most `maxEventsAtOnce`
 * of a person are in memory.
 */
export async function countFunnel(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  { maxEventsAtOnce = MAX_EVENTS_AT_ONCE, signal }: { maxEventsAtOnce?: number; signal?: AbortSignal } = {},
): Promise<FunnelTotals[] | null> {
  const counts = new FunnelCounts(query);
  await inShards(db, signal, async (session, shard) => {
    const part = { session, entityId, query, shard, counts };
    const busy = await countPeople(part, maxEventsAtOnce);
    if (busy.length > 0) await countBusyPeople(part, busy);
  });
  return counts.totals();
}

/** Bytes of an event: its time in microseconds since 2000, and its mask. */
const EVENT_BYTES = 16;
const PACKED = 'timestamptz_send(at) || int8send(mask)';

type Part = { session: Tx; entityId: number; query: FunnelQuery; shard: Shard; counts: FunnelCounts };

/** Counts people, and returns those with too many events to come at once. */
async function countPeople(
  { session, entityId, query, shard, counts }: Part,
  maxEventsAtOnce: number,
): Promise<string[]> {
  const { values, add } = parameters();
  const { with: tables, counted } = countedSql(query, shard, add);
  const tooMany = `count(*) > ${maxEventsAtOnce}`;
  const property = query.breakdown
    ? '(array_agg(property ORDER BY at, id) FILTER (WHERE mask & 1 <> 0))[1]'
    : 'NULL::text';
  const statement = `WITH ${tables} SELECT ${property} AS property, CASE WHEN ${tooMany} THEN person END AS busy,
      CASE WHEN NOT ${tooMany} THEN string_agg(${PACKED}, '' ORDER BY at, id) END AS events
    FROM (${counted}) counted GROUP BY hash, person`;
  const busy: string[] = [];
  type Row = { property: string | null; busy: string | null; events: Buffer | null };
  const slice = new TimeSlice();
  for await (const rows of pagesOf<Row>(session, 'people', statement, [entityId, ...values], PEOPLE_PER_PAGE)) {
    for (const { property: value, busy: person, events } of rows) {
      if (person !== null) busy.push(person);
      else counts.add(value, followAll(counts.newPerson(), events!));
      if (slice.isOver) await slice.next();
    }
  }
  return busy;
}

async function countBusyPeople({ session, entityId, query, shard, counts }: Part, people: string[]): Promise<void> {
  const { values, add } = parameters();
  const { with: tables, counted } = countedSql(query, shard, add);
  const property = query.breakdown ? 'CASE WHEN mask & 1 <> 0 THEN property END' : 'NULL::text';
  const statement = `WITH ${tables} SELECT person, mask & 1 <> 0 AS starts, ${property} AS property, ${PACKED} AS events
    FROM (${counted}) counted WHERE person = ANY (${add(people)}) ORDER BY person, at, id`;
  type Row = { person: string; starts: boolean; property: string | null; events: Buffer };
  let last = null as { person: string; chains: FunnelChains; property: string | null; hasStarted: boolean } | null;
  for await (const rows of pagesOf<Row>(session, 'busy_people', statement, [entityId, ...values], EVENTS_PER_PAGE)) {
    for (const { person, starts, property: value, events } of rows) {
      if (last?.person !== person) {
        if (last) counts.add(last.property, last.chains);
        last = { person, chains: counts.newPerson(), property: null, hasStarted: false };
      }
      if (starts && !last.hasStarted) Object.assign(last, { property: value, hasStarted: true });
      followAll(last.chains, events);
    }
  }
  if (last) counts.add(last.property, last.chains);
}

function followAll(chains: FunnelChains, events: Buffer): FunnelChains {
  for (let offset = 0; offset < events.length; offset += EVENT_BYTES) {
    const micros = events.readInt32BE(offset) * 2 ** 32 + events.readUInt32BE(offset + 4);
    chains.follow(micros, events.readInt32BE(offset + 12), events.readInt32BE(offset + 8));
  }
  return chains;
}

/** `timestamptz_send` counts from here. */
const EPOCH_MS = Date.UTC(2000, 0);

/** Adds up completions by value of the property. */
class FunnelCounts {
  readonly #rules: ChainRules;
  readonly #byProperty = new Map<string | null, { people: number; micros: number; last: number }[]>();

  constructor({ details, maxSeconds, breakdown }: FunnelQuery) {
    this.#rules = { steps: details.length, maxMicros: maxSeconds * 1e6 };
    if (!breakdown) this.#stepsOf(null);
  }

  newPerson(): FunnelChains {
    return new FunnelChains(this.#rules);
  }

  add(property: string | null, { completions }: FunnelChains): void {
    // There are too many values already.
    if (completions[0] === null || this.#byProperty.size > MAX_PROPERTIES) return;
    const steps = this.#stepsOf(property);
    for (const [step, completion] of completions.entries()) {
      if (completion === null) continue;
      const total = steps[step]!;
      total.people += 1;
      total.micros += completion.first - completion.start;
      total.last = Math.max(total.last, completion.last);
    }
  }

  #stepsOf(property: string | null) {
    let steps = this.#byProperty.get(property);
    if (!steps) {
      steps = Array.from({ length: this.#rules.steps }, () => ({ people: 0, micros: 0, last: -Infinity }));
      this.#byProperty.set(property, steps);
    }
    return steps;
  }

  /** Returns the totals; null if there are too many values. */
  totals(): FunnelTotals[] | null {
    if (this.#byProperty.size > MAX_PROPERTIES) return null;
    return [...this.#byProperty]
      .map(([property, steps]) => ({
        property,
        steps: steps.map(({ people, micros, last }) => ({
          people,
          seconds: micros / 1e6,
          lastAt: people === 0 ? null : new Date(Math.floor(last / 1_000) + EPOCH_MS),
        })),
      }))
      .sort((a, b) => b.steps[0]!.people - a.steps[0]!.people);
  }
}

/**
 * Counts, for each kind of event in the apps `followed`, the people who had one after completing the step for the first
 * time, and the seconds to the first such event. Kinds of most people come first.
 */
export async function exploreFunnel(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  { position, followed, signal }: { position: number; followed: readonly number[]; signal?: AbortSignal },
): Promise<Followed[]> {
  const totals = new Map<string, Followed>();
  await inShards(db, signal, async (session, shard) => {
    const { values, add } = parameters();
    const {
      with: tables,
      levels,
      joins,
      person,
      mayCount,
    } = funnelSql({ ...query, breakdown: null }, position + 1, shard, add, followed);
    const { rows } = await session.query<Followed>(
      `WITH ${tables}, completed AS MATERIALIZED (
          SELECT DISTINCT ON (hash, person) person, at, id FROM (${levels}) levels WHERE p${position} IS NOT NULL
          ORDER BY hash, person, at, id)
        SELECT app_id AS "appId", log_type AS "logType", name, count(*) AS people, sum(extract(epoch FROM first_at - at))::float8 AS seconds
        FROM (
          SELECT e.app_id, e.log_type, e.name, c.person, c.at, min(e.happened_at) AS first_at
          FROM events e ${joins} JOIN completed c ON c.person = ${person}
          WHERE e.entity_id = $1 AND e.app_id = ANY (${add(followed)}::integer[]) AND ${mayCount}
            AND e.happened_at >= ${add(query.from)} AND e.happened_at < ${add(query.until)} AND (e.happened_at, e.id) > (c.at, c.id)
          GROUP BY e.app_id, e.log_type, e.name, c.person, c.at) firsts
        GROUP BY app_id, log_type, name`,
      [entityId, ...values],
    );
    for (const row of rows) {
      const key = JSON.stringify([row.appId, row.logType, row.name]);
      const one = totals.get(key);
      totals.set(key, one ? { ...one, people: one.people + row.people, seconds: one.seconds + row.seconds } : row);
    }
  });
  return [...totals.values()].sort((a, b) => b.people - a.people || (a.name < b.name ? -1 : 1));
}

/** Number of sessions that share a funnel's people, since one session is bound by one core. */
const SHARDS = 2;
export const FUNNEL_TIMEOUT_MS = 120_000;
/**
 * Each session sorts the rows of its people once; the planner's parallel plans sort them elsewhere. It can't know how
 * many devices have one user: it would sort all events to join them, or, for a small app beside a large one, compare
 * each event with each device (100,000 events took 26 s, now 0.3 s). A running timeout can't be moved, only ended and
 * begun again.
 */
const SETTINGS = `SET LOCAL transaction_timeout = 0; SET LOCAL transaction_timeout = ${FUNNEL_TIMEOUT_MS};
  SET LOCAL work_mem = '64MB'; SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = off; SET LOCAL cursor_tuple_fraction = 1;
  SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL client_connection_check_interval = '2s'`;

/** Does the work of each shard, all on the same snapshot. */
async function inShards(
  db: Database,
  signal: AbortSignal | undefined,
  work: (session: Tx, shard: Shard) => Promise<void>,
): Promise<void> {
  const sessions: Tx[] = [];
  const pids: number[] = [];
  /** Begins with one message to Postgres: on a busy machine each message waits for its turn. */
  const begin = async (snapshot: string, columns: string) => {
    const session = await db.connect();
    sessions.push(session);
    const results = (await session.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${snapshot} ${SETTINGS};
      SELECT pg_backend_pid() AS pid${columns}`)) as unknown as QueryResult<{ pid: number; snapshot: string }>[];
    const [row] = results.at(-1)!.rows;
    pids.push(row!.pid);
    return row!;
  };
  let failed = true;
  try {
    const { snapshot } = await begin('', ', pg_export_snapshot() AS snapshot');
    while (sessions.length < SHARDS) await begin(`SET TRANSACTION SNAPSHOT '${snapshot}';`, '');
    await endingOn(db, pids, signal, () =>
      Promise.all(sessions.map((session, number) => work(session, { number, of: SHARDS }))),
    );
    failed = false;
  } finally {
    // Ends sessions that still compute.
    await Promise.all(
      sessions.map(async (session) => {
        if (failed) session.release(true);
        else
          await session.query('COMMIT').then(
            () => session.release(),
            () => session.release(true),
          );
      }),
    );
  }
}

/**
 * Yields the rows of a query in pages. Postgres makes the next page while one is read. The end of the transaction
 * closes the cursor, so each query of a transaction has its own name.
 */
async function* pagesOf<Row extends object>(
  session: Tx,
  name: string,
  query: string,
  values: unknown[],
  size: number,
): AsyncGenerator<Row[]> {
  const fetchPage = () => {
    const page = session.query<Row>(`FETCH ${size} FROM ${name}`);
    page.catch(() => {}); // an unawaited one fails with its session
    return page;
  };
  await session.query(`DECLARE ${name} NO SCROLL CURSOR FOR ${query}`, values);
  let next = fetchPage();
  for (;;) {
    const { rows } = await next;
    const isLast = rows.length < size;
    if (!isLast) next = fetchPage();
    yield rows;
    if (isLast) break;
  }
}
