import type { Database, Tx } from '../core/database.ts';
import { type FunnelQuery, funnelSql, parameters, type Shard } from './funnel-sql.ts';

/** Of the people who completed a step: how many, their seconds since step 0 in all, and when the last of them did. */
export type StepTotal = { people: number; seconds: number; lastAt: Date | null };
/** Of one value of the property that divides people, or of all. */
export type FunnelTotals = { property: string | null; steps: StepTotal[] };
/** Events of a kind that people had after a step. */
export type Followed = { appId: number; logType: number; name: string; people: number; seconds: number };

/** More values than these are none to divide people by. */
export const MAX_PROPERTIES = 1_000;

/** Who completed each step. Null: the property has too many values. */
export async function countFunnel(db: Database, entityId: number, query: FunnelQuery): Promise<FunnelTotals[] | null> {
  const depth = query.details.length;
  const steps = Array.from({ length: depth }, (_, step) => step);
  const property = query.breakdown ? 'property' : 'NULL::text';
  const statement = (shard: Shard) => {
    const { values, add } = parameters();
    const { with: tables, levels } = funnelSql(query, depth, shard, add);
    // A column q of the last level is asked for by nobody, and is not computed.
    const people = steps.map((step) => `min(at) FILTER (WHERE p${step} IS NOT NULL) AS c${step}, min(p${step}) AS s${step},
      max(at) FILTER (WHERE p${step} IS NOT NULL) AS l${step}`);
    const first = query.breakdown ? ', max(property) FILTER (WHERE p0 IS NOT NULL AND q0 IS NULL) AS property' : '';
    const totals = steps.map((step) => `json_build_object('people', count(c${step}),
      'seconds', coalesce(sum(extract(epoch FROM c${step} - s${step})), 0), 'lastAt', max(l${step}))`);
    return {
      text: `WITH ${tables} SELECT ${property} AS property, json_build_array(${totals.join(', ')}) AS steps
        FROM (SELECT ${people.join(', ')}${first} FROM (${levels}) levels GROUP BY person HAVING min(p0) IS NOT NULL) people
        GROUP BY 1 LIMIT ${MAX_PROPERTIES + 1}`,
      values,
    };
  };
  type Row = { property: string | null; steps: { people: number; seconds: number; lastAt: string | null }[] };
  const rows = await readInShards<Row>(db, entityId, statement);
  const totals = new Map<string | null, FunnelTotals>();
  if (!query.breakdown) totals.set(null, { property: null, steps: steps.map(() => ({ people: 0, seconds: 0, lastAt: null })) });
  for (const { property: value, steps: read } of rows) {
    const other = read.map(({ lastAt, ...counts }) => ({ ...counts, lastAt: lastAt === null ? null : new Date(lastAt) }));
    const one = totals.get(value);
    totals.set(value, { property: value, steps: one ? one.steps.map((step, index) => added(step, other[index]!)) : other });
  }
  return totals.size > MAX_PROPERTIES ? null : [...totals.values()].sort((a, b) => b.steps[0]!.people - a.steps[0]!.people);
}

function added(one: StepTotal, other: StepTotal): StepTotal {
  const times = [one.lastAt, other.lastAt].filter((at) => at !== null);
  return {
    people: one.people + other.people, seconds: one.seconds + other.seconds,
    lastAt: times.length === 0 ? null : new Date(Math.max(...times.map(Number))),
  };
}

/**
 * Of each kind of event in the apps `followed`: who had one in the period after completing the step for the first time, and the seconds
 * to the first such event. A kind that most people had comes first.
 */
export async function exploreFunnel(
  db: Database, entityId: number, query: FunnelQuery, { position, followed }: { position: number; followed: readonly number[] },
): Promise<Followed[]> {
  const statement = (shard: Shard) => {
    const { values, add } = parameters();
    const { with: tables, levels, joins, person } = funnelSql({ ...query, breakdown: null }, position + 1, shard, add, followed);
    return {
      text: `WITH ${tables}, completed AS MATERIALIZED (
          SELECT person, at, id FROM (${levels}) levels WHERE p${position} IS NOT NULL AND q${position} IS NULL)
        SELECT app_id AS "appId", log_type AS "logType", name, count(*) AS people, sum(extract(epoch FROM first_at - at))::float8 AS seconds
        FROM (
          SELECT e.app_id, e.log_type, e.name, c.person, c.at, min(e.happened_at) AS first_at
          FROM events e ${joins} JOIN completed c ON c.person = ${person}
          WHERE e.entity_id = $1 AND e.app_id = ANY (${add(followed)}::integer[])
            AND e.happened_at >= ${add(query.from)} AND e.happened_at < ${add(query.until)} AND (e.happened_at, e.id) > (c.at, c.id)
          GROUP BY e.app_id, e.log_type, e.name, c.person, c.at) firsts
        GROUP BY app_id, log_type, name`,
      values,
    };
  };
  const totals = new Map<string, Followed>();
  for (const row of await readInShards<Followed>(db, entityId, statement)) {
    const key = JSON.stringify([row.appId, row.logType, row.name]);
    const one = totals.get(key);
    totals.set(key, one ? { ...one, people: one.people + row.people, seconds: one.seconds + row.seconds } : row);
  }
  return [...totals.values()].sort((a, b) => b.people - a.people || (a.name < b.name ? -1 : 1));
}

/** A funnel is bound by one core, so its people are divided among as many sessions. */
const SHARDS = 2;
export const FUNNEL_TIMEOUT_MS = 120_000;
/** Each session sorts the rows of its people once; the planner's own parallel plans sort them nowhere else. */
const SETTINGS = `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = ${FUNNEL_TIMEOUT_MS}; SET LOCAL work_mem = '64MB';
  SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL client_connection_check_interval = '2s'`;

/** The rows of a statement for each shard, all read from the same snapshot. */
async function readInShards<Row extends object>(
  db: Database, entityId: number, statement: (shard: Shard) => { text: string; values: unknown[] },
): Promise<Row[]> {
  const sessions: Tx[] = [];
  let failed = true;
  try {
    const first = await beginReading(db, sessions);
    const { rows: [snapshot] } = await first.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
    while (sessions.length < SHARDS) await beginReading(db, sessions, snapshot!.id);
    const found = await Promise.all(sessions.map(async (session, number) => {
      const { text, values } = statement({ number, of: SHARDS });
      return (await session.query<Row>(text, [entityId, ...values])).rows;
    }));
    failed = false;
    return found.flat();
  } finally {
    // One that still computes is of no use to anybody: its session ends.
    for (const session of sessions) {
      if (failed) session.release(true);
      else await session.query('COMMIT').then(() => session.release(), () => session.release(true));
    }
  }
}

async function beginReading(db: Database, sessions: Tx[], snapshot?: string): Promise<Tx> {
  const session = await db.connect();
  sessions.push(session);
  const same = snapshot === undefined ? '' : `SET TRANSACTION SNAPSHOT '${snapshot}';`;
  await session.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${same} ${SETTINGS}`);
  return session;
}
