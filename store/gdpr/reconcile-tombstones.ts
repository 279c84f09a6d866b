/** Makes database and file store agree on tombstones at start-up, after either went back to a backup. */
import { readTombstoneBatch, type TombstoneBatch, writeTombstoneBatch } from '../../domain/gdpr/tombstone-batch.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { asBytes, type Files } from '../core/files.ts';
import type { Secrets } from '../core/secrets.ts';
import { lockBatches, TOMBSTONES_AREA } from './tombstone-batches.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { textOf } from '../../domain/attributes/json-value.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { isLongerThan, MAX_CODE_POINTS } from '../../domain/text/text-limits.ts';
import { readCustomerType, type WaitingValue } from '../../domain/feed/feed-value.ts';
import { UNDER_WAY } from './request-record.ts';
import { insertGdprRequest } from './requests.ts';
import { type Person, personKey } from './tombstones.ts';

export type Reconciled = {
  /** Batches that only the file store had, as after a restore of the database. */
  restored: number;
  written: number;
  /** Files of unknown entities, and files that hold no batch. */
  unknown: number;
  unreadable: number;
  /** People who came back with the database, and are erased again. */
  people: number;
};

type Dependencies = { db: Database; files: Files; secrets: Secrets };

/** The advisory lock of reconciliation. Any number that no other program takes as an advisory lock of this database. */
const RECONCILE_LOCK = 5_717_023_443;
const KEYS_A_PAGE = 2_000;
const FILES_AT_ONCE = 16;

/**
 * Makes database and file store agree on tombstones: for each person the newest batch counts. Requests the deletion of
 * erased people who came back. Runs before anything is served; a later start completes what a killed one has left.
 */
export async function reconcileTombstones({ db, files, secrets }: Dependencies): Promise<Reconciled> {
  const session = await db.connect();
  try {
    await session.query('SET transaction_timeout = 0');
    await session.query('SELECT pg_advisory_lock($1)', [RECONCILE_LOCK]);
    await listFiles(session, files);
    const { restored, unreadable } = await takeFromFiles({ db, files }, session);
    return {
      restored,
      unreadable,
      unknown: await countUnknown(session),
      written: await writeToFiles(session, files),
      people: await eraseRestoredPeople({ db, secrets }, session),
    };
  } finally {
    session.release(true); // ends the session: its lock, its settings and its tables go with it
  }
}

async function listFiles(session: Tx, files: Files): Promise<void> {
  await session.query('CREATE TEMP TABLE listed (key text COLLATE "C" PRIMARY KEY, entity text NOT NULL)');
  let page: string[] = [];
  const flush = async () => {
    await session.query(
      `INSERT INTO listed SELECT key, split_part(key, '/', 2) FROM unnest($1::text[]) AS key ON CONFLICT DO NOTHING`,
      [page],
    );
    page = [];
  };
  for await (const { key } of files.list(TOMBSTONES_AREA)) {
    page.push(key);
    if (page.length === KEYS_A_PAGE) await flush();
  }
  await flush();
  await session.query('ANALYZE listed');
}

async function countUnknown(session: Tx): Promise<number> {
  const { rows } = await session.query<{ unknown: number }>(
    'SELECT count(*) AS unknown FROM listed WHERE NOT EXISTS (SELECT FROM entities WHERE identifier = entity)',
  );
  return rows[0]!.unknown;
}

type Lacking = Row<'tombstone_batches', 'key'> & { entityId: number };

async function takeFromFiles(
  { db, files }: Omit<Dependencies, 'secrets'>,
  session: Tx,
): Promise<{ restored: number; unreadable: number }> {
  const lacking = readRows<Lacking>(
    await session.query(
      `SELECT e.id AS entity_id, l.key FROM listed l JOIN entities e ON e.identifier = l.entity
     WHERE NOT EXISTS (SELECT FROM tombstone_batches b WHERE b.entity_id = e.id AND b.key = l.key) ORDER BY e.id, l.key`,
    ),
  );
  let restored = 0;
  for (const [entityId, own] of Map.groupBy(lacking, ({ entityId: id }) => id)) {
    for (let from = 0; from < own.length; from += FILES_AT_ONCE) {
      const page = await Promise.all(
        own
          .slice(from, from + FILES_AT_ONCE)
          .map(async ({ key }) => ({ key, batch: await readTombstoneBatchFile(files, key) })),
      );
      const found = page.filter((file): file is BatchFile => file.batch !== null);
      if (found.length > 0) await write(db, (tx) => takeBatches(tx, entityId, found));
      restored += found.length;
    }
  }
  return { restored, unreadable: lacking.length - restored };
}

/** Returns null if the file is gone, or is no batch of the entity whose folder it is in. */
async function readTombstoneBatchFile(files: Files, key: string): Promise<TombstoneBatch | null> {
  const text = await files.readAll(key);
  const batch = text && readTombstoneBatch(text.toString());
  return batch && key.startsWith(`${TOMBSTONES_AREA}${batch.entity}/`) ? batch : null;
}

type BatchFile = { key: string; batch: TombstoneBatch };

/** Applies batches: for each person the newest known batch counts; a later page may have a newer one. */
async function takeBatches(tx: Tx, entityId: number, found: BatchFile[]): Promise<void> {
  await lockBatches(tx, entityId);
  for (const {
    key,
    batch: { kind, madeAt, hashes },
  } of found) {
    await tx.query(
      `INSERT INTO tombstone_batches (entity_id, key, kind, made_at, hashes, search_pending)
       VALUES ($1, $2, $3, $4, $5, $3 = 'raised') ON CONFLICT DO NOTHING`,
      [entityId, key, kind, madeAt, hashes],
    );
  }
  const named = found.flatMap(({ batch }) => batch.hashes);
  const { rows } = await tx.query<{ raised: number }>(
    `WITH latest AS (
       SELECT DISTINCT ON (hash) hash, b.kind, b.made_at FROM tombstone_batches b CROSS JOIN LATERAL unnest(b.hashes) AS hash
       WHERE b.entity_id = $1 AND hash = ANY ($2::bytea[]) ORDER BY hash, b.made_at DESC, b.key DESC
     ), readmitted AS (
       DELETE FROM tombstones t USING latest l WHERE t.entity_id = $1 AND t.customer_hash = l.hash AND l.kind = 'readmitted'
     ), raised AS (
       INSERT INTO tombstones (entity_id, customer_hash, raised_at) SELECT $1, hash, made_at FROM latest WHERE kind = 'raised'
       ON CONFLICT DO NOTHING RETURNING 1)
     SELECT count(*) AS raised FROM raised`,
    [entityId, named],
  );
  if (rows[0]!.raised > 0) return;
  // A batch of a process that was killed before its commit: its tombstones were raised again, so no person came back.
  await tx.query('UPDATE tombstone_batches SET search_pending = false WHERE entity_id = $1 AND key = ANY ($2)', [
    entityId,
    found.map(({ key }) => key),
  ]);
}

type Unwritten = Row<'tombstone_batches', 'key' | 'kind' | 'madeAt' | 'hashes'> & { entity: string };

async function writeToFiles(session: Tx, files: Files): Promise<number> {
  for (let written = 0, after = ''; ;) {
    const rows = readRows<Unwritten>(
      await session.query(
        `SELECT b.key, e.identifier AS entity, b.kind, b.made_at, b.hashes FROM tombstone_batches b JOIN entities e ON e.id = b.entity_id
       WHERE b.key > $1 AND NOT EXISTS (SELECT FROM listed l WHERE l.key = b.key)
       ORDER BY b.key LIMIT ${FILES_AT_ONCE}`,
        [after],
      ),
    );
    if (rows.length === 0) return written;
    await Promise.all(rows.map(({ key, ...batch }) => files.put(key, asBytes(writeTombstoneBatch(batch)))));
    written += rows.length;
    after = rows.at(-1)!.key;
  }
}

const IDS_A_PAGE = 5_000;
/** Each of up to 10 MB. */
const BODIES_A_PAGE = 4;
const PEOPLE_A_REQUEST = 100;

/** A column with an id, or with an id behind the letter of its type, `u` or `d`. */
type Holds = Person['customerType'] | 'either type' | 'a subject';

/** Columns that hold an id, and its type, by table. Tables that name the type in a column follow below. */
export const ID_COLUMNS: Record<string, Record<string, Holds>> = {
  devices: { device_id: 'device_id', current_user_id: 'user_id', last_user_id: 'user_id', verified_user_id: 'user_id' },
  device_users: { user_id: 'user_id', device_id: 'device_id' },
  user_aliases: { previous_id: 'user_id', user_id: 'user_id', device_id: 'device_id' },
  events: { user_id: 'user_id', device_id: 'device_id' },
  sessions: { user_id: 'user_id', device_id: 'device_id', subject: 'a subject' },
  session_heads: { subject: 'a subject' },
  locations: { user_id: 'user_id', device_id: 'device_id' },
  sync_records: { key: 'either type', customer_id: 'either type' },
  import_errors: { customer_id: 'either type' },
  segment_members: { person: 'a subject' },
  segment_changes: { person: 'a subject' },
  send_messages: { user_id: 'user_id' },
  attempts: { user_id: 'user_id', device_id: 'device_id' },
  campaign_audience: { person: 'a subject', device_id: 'device_id' },
  campaign_members: { person: 'a subject' },
  campaign_people: { person: 'a subject' },
};

const TYPE_BY_CODE = "CASE customer_type WHEN 0 THEN 'user_id' ELSE 'device_id' END";
const ASKED = `FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = p.request_id
  WHERE p.entity_id = $1 AND r.request_type = 'access'`;

/** Every id in an id column of the entity ($1). NULL for `type`: either type. */
const IDS = [
  ...['customers', 'attribute_values', 'dry_run_sets', 'dry_run_ids'].map(
    (table) => `SELECT ${TYPE_BY_CODE} AS type, customer_id AS id FROM ${table} WHERE entity_id = $1`,
  ),
  `SELECT ${TYPE_BY_CODE}, unnest(customer_ids) FROM attribute_change_log WHERE entity_id = $1`,
  'SELECT customer_type, customer_id FROM gdpr_holds WHERE entity_id = $1',
  ...Object.entries(ID_COLUMNS).flatMap(([table, columns]) =>
    Object.entries(columns).map(
      ([column, holds]) => `SELECT ${typeAndId(column, holds)} FROM ${table} WHERE entity_id = $1`,
    ),
  ),
  `SELECT 'user_id', p.user_id ${ASKED}`,
  `SELECT 'device_id', p.device_id ${ASKED}`,
].join('\n  UNION ');

function typeAndId(column: string, holds: Holds): string {
  if (holds === 'a subject')
    return `CASE left(${column}, 1) WHEN 'u' THEN 'user_id' ELSE 'device_id' END, substr(${column}, 2)`;
  return `${holds === 'either type' ? 'NULL' : `'${holds}'`}, ${column}`;
}

/** JSON in which staff and integrations name people: any text in it may be an id. Other texts hold no id by itself. */
const JSON_TEXTS = [
  ['segments', 'filters'],
  ['campaigns', 'filters'],
  ['funnels', 'steps'],
  ['file_jobs', 'query'],
  ['idempotent_requests', 'reply'],
]
  .map(
    ([table, column]) => `SELECT ${column}::text AS json FROM ${table} WHERE entity_id = $1 AND ${column} IS NOT NULL`,
  )
  .join('\n  UNION ALL ');

/** Finds restored erased people by hashing every id, and inserts their deletions. `session` may take its time. */
async function eraseRestoredPeople({ db, secrets }: Omit<Dependencies, 'files'>, session: Tx): Promise<number> {
  const rows = readRows<Row<'tombstone_batches', 'entityId'> & { keys: string[] }>(
    await session.query(
      'SELECT entity_id, array_agg(key) AS keys FROM tombstone_batches WHERE search_pending GROUP BY entity_id ORDER BY entity_id',
    ),
  );
  let people = 0;
  for (const { entityId, keys } of rows) {
    await noteSought(session, entityId, keys);
    const found = await findSought({ session, secrets }, entityId);
    await write(db, (tx) => insertRequests(tx, entityId, found, keys));
    people += found.length;
  }
  return people;
}

async function noteSought(session: Tx, entityId: number, keys: string[]): Promise<void> {
  await session.query('DROP TABLE IF EXISTS pg_temp.sought');
  await session.query('CREATE TEMP TABLE sought (hash bytea PRIMARY KEY)');
  await session.query(
    `INSERT INTO sought SELECT DISTINCT hash FROM tombstone_batches b CROSS JOIN LATERAL unnest(b.hashes) AS hash
     WHERE b.entity_id = $1 AND b.key = ANY ($2)
       AND EXISTS (SELECT FROM tombstones t WHERE t.entity_id = $1 AND t.customer_hash = hash)`,
    [entityId, keys],
  );
}

type Search = { session: Tx; secrets: Secrets };

async function findSought({ session, secrets }: Search, entityId: number): Promise<Person[]> {
  const found = new Map<string, Person>();
  const look = async (people: Person[]) => {
    for (const person of await filterSought({ session, secrets }, entityId, people))
      found.set(personKey(person), person);
  };
  const ids = readOnce<{ type: Person['customerType'] | null; id: string | null }>(session, entityId, IDS, IDS_A_PAGE);
  for await (const rows of ids) await look(rows.flatMap(({ type, id }) => peopleOf(type, id)));
  const texts = readOnce<{ json: string }>(session, entityId, JSON_TEXTS, BODIES_A_PAGE);
  for await (const rows of texts)
    await look(rows.flatMap(({ json }) => textsIn(JSON.parse(json)).flatMap((text) => peopleOf(null, text))));
  for await (const people of listWaitingPeople(session, entityId)) await look(people);
  return [...found.values()];
}

async function* readOnce<Row extends object>(
  session: Tx,
  entityId: number,
  query: string,
  page: number,
): AsyncGenerator<Row[]> {
  await session.query('BEGIN READ ONLY');
  await session.query({ text: `DECLARE sought_in NO SCROLL CURSOR FOR ${query}`, values: [entityId] });
  for (;;) {
    const { rows } = await session.query<Row>(`FETCH ${page} FROM sought_in`);
    if (rows.length === 0) break;
    yield rows;
  }
  await session.query('COMMIT');
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' || isLongerThan(value, MAX_CODE_POINTS) ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function peopleOf(type: Person['customerType'] | null, id: string | null): Person[] {
  if (id === null) return [];
  return (type === null ? [...CUSTOMER_TYPES] : [type]).map((customerType) => ({ customerType, customerId: id }));
}

async function filterSought({ session, secrets }: Search, entityId: number, people: Person[]): Promise<Person[]> {
  const byHash = new Map(
    people.map((person) => [
      secrets.customerHash(entityId, person.customerType, person.customerId).toString('hex'),
      person,
    ]),
  );
  const { rows } = await session.query<{ hash: string }>(
    `SELECT encode(hash, 'hex') AS hash FROM sought WHERE hash = ANY (SELECT decode(h, 'hex') FROM unnest($1::text[]) AS h)`,
    [[...byHash.keys()]],
  );
  return rows.map(({ hash }) => byHash.get(hash)!);
}

async function* listWaitingPeople(session: Tx, entityId: number): AsyncGenerator<Person[]> {
  for (let after = 0; ;) {
    const { rows } = await session.query<Row<'feed_requests', 'id', { body: string }>>(
      `SELECT id, body FROM feed_requests WHERE entity_id = $1 AND done_at IS NULL AND id > $2 ORDER BY id LIMIT ${BODIES_A_PAGE}`,
      [entityId, after],
    );
    if (rows.length === 0) return;
    for (const { body } of rows) {
      yield (parseExactJson(body) as WaitingValue[]).flatMap((value) =>
        typeof value === 'string'
          ? []
          : peopleOf(readCustomerType(value.customer_id_type) ?? null, textOf(value.customer_id) ?? null),
      );
    }
    after = rows.at(-1)!.id;
  }
}

async function insertRequests(tx: Tx, entityId: number, found: Person[], keys: string[]): Promise<void> {
  for (let from = 0; from < found.length; from += PEOPLE_A_REQUEST) {
    await insertGdprRequest(tx, entityId, {
      type: 'delete',
      source: 'restore',
      appId: null,
      requester: { kind: 'system', id: null },
      skipEmail: true,
      emails: [],
      state: 'accepted',
      people: found.slice(from, from + PEOPLE_A_REQUEST).map(({ customerType, customerId }) => ({
        userId: customerType === 'user_id' ? customerId : null,
        deviceId: customerType === 'device_id' ? customerId : null,
      })),
    });
  }
  await tx.query('UPDATE tombstone_batches SET search_pending = false WHERE entity_id = $1 AND key = ANY ($2)', [
    entityId,
    keys,
  ]);
}

/** Counts the people who came back and are not erased yet. Uses the index gdpr_requests_under_way. */
export async function countRestoredPeople(db: Queryable): Promise<{ people: number; requests: number }> {
  const { rows } = await db.query<{ people: number; requests: number }>(
    `SELECT count(*) AS people, count(DISTINCT (r.entity_id, r.id)) AS requests
     FROM gdpr_requests r JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id
     WHERE r.${UNDER_WAY} AND r.source = 'restore' AND p.state <> 'treated'`,
  );
  return rows[0]!;
}
