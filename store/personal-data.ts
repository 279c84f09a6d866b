import { countLogged, eraseFromChangeLog, listLogged } from './attribute-change-log.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { eraseWaitingValuesOf, listWaitingValuesOf } from './feed-requests-of-people.ts';
import type { Database, Queryable } from './database.ts';
import { inBatches } from './in-batches.ts';
import { deletePinnedFilesOf, listPinnedLinesOf } from './pinned-files.ts';
import type { Files } from './files.ts';
import type { Secrets } from './secrets.ts';
import type { Person } from './tombstones.ts';

export type PlaceNeeds = { db: Database; files: Files; secrets: Secrets };

/** One table, or one area of the file store, that may hold something about a customer. */
export type PersonalDataPlace = {
  /** A table's name, or a file area's with its `/`. */
  name: string;
  /** The columns that may tell something about the person. */
  columns: string[];
  /** The other columns of the table. */
  otherColumns: string[];
  /** How a person is found there, for the documentation. */
  foundBy: string;
  /** Rows or files that still tell something about any of these people. */
  count(needs: PlaceNeeds, entityId: number, people: Person[]): Promise<number>;
  /** What is told of them, one record a row. */
  export(needs: PlaceNeeds, entityId: number, people: Person[]): AsyncIterable<Record<string, unknown>>;
  /** Takes it away in bounded batches, and tells how many rows or files it changed. Null: nothing here names anyone. */
  erase: ((needs: PlaceNeeds, entityId: number, people: Person[]) => Promise<number>) | null;
};

const BATCH = 5_000;

const attributeValues: PersonalDataPlace = {
  name: 'attribute_values',
  columns: ['customer_id', 'customer_type', 'string_value', 'number_value', 'boolean_value', 'date_value',
    'datetime_value', 'set_elements', 'set_times', 'changed_at', 'removed_at'],
  otherColumns: ['entity_id', 'sor_id', 'attribute_id'],
  foundBy: 'customer_type and customer_id, within the primary key of each System of Record',
  count: ({ db }, entityId, people) => countRows(db, `attribute_values v ${VALUES_OF_PEOPLE}`, valueKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT s.identifier AS system_of_record, a.key, a.value_type, v.customer_id, v.string_value, v.number_value,
              v.boolean_value, v.date_value, v.datetime_value, v.set_elements, v.set_times, v.changed_at, v.removed_at
       FROM attribute_values v
       JOIN systems_of_records s ON s.entity_id = v.entity_id AND s.id = v.sor_id
       JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id
       ${VALUES_OF_PEOPLE}`, valueKeys(entityId, people));
    yield* rows;
  },
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM attribute_values WHERE ctid = ANY (ARRAY(
       SELECT v.ctid FROM attribute_values v ${VALUES_OF_PEOPLE} LIMIT ${BATCH}))`, valueKeys(entityId, people)),
};

/** Each SoR of the entity and each person: one range of the primary key a pair. */
const VALUES_OF_PEOPLE = `WHERE v.entity_id = $1
  AND v.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1)
  AND (v.customer_id, v.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;

function valueKeys(entityId: number, people: Person[]): unknown[] {
  return [entityId, people.map(({ customerId }) => customerId), people.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType])];
}

const customers: PersonalDataPlace = {
  name: 'customers',
  columns: ['customer_id', 'customer_type'],
  otherColumns: ['entity_id'],
  foundBy: 'customer_type and customer_id, the primary key',
  count: ({ db }, entityId, people) => countRows(db, `customers c ${CUSTOMERS_AMONG}`, valueKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT c.customer_id, c.customer_type FROM customers c ${CUSTOMERS_AMONG}`, valueKeys(entityId, people));
    yield* rows;
  },
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM customers WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM customers c ${CUSTOMERS_AMONG} LIMIT ${BATCH}))`,
    valueKeys(entityId, people)),
};

const CUSTOMERS_AMONG = `WHERE c.entity_id = $1
  AND (c.customer_id, c.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;

const changeLog: PersonalDataPlace = {
  name: 'attribute_change_log',
  columns: ['customer_type', 'customer_ids', 'received_at', 'committed_at'],
  otherColumns: ['entity_id', 'id', 'sor_id', 'pending'],
  foundBy: 'customer_type and customer_ids, through all entries of the entity',
  count: ({ db }, entityId, people) => countLogged(db, entityId, idsByType(people)),
  export: ({ db }, entityId, people) => listLogged(db, entityId, idsByType(people)),
  erase: ({ db }, entityId, people) => eraseFromChangeLog(db, entityId, idsByType(people)),
};

function idsByType(people: Person[]): [users: string[], devices: string[]] {
  const ids = (type: Person['customerType']) =>
    people.filter(({ customerType }) => customerType === type).map(({ customerId }) => customerId);
  return [ids('user_id'), ids('device_id')];
}

const dryRunSets: PersonalDataPlace = {
  name: 'dry_run_sets',
  columns: ['customer_id', 'customer_type', 'set_elements', 'set_times'],
  otherColumns: ['entity_id', 'import_id', 'attribute_id'],
  foundBy: 'customer_type and customer_id, among the few Sets of dry runs under way',
  count: ({ db }, entityId, people) => countRows(db, `dry_run_sets d ${DRY_RUN_SETS_OF_PEOPLE}`, valueKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT d.customer_id, d.set_elements, d.set_times FROM dry_run_sets d ${DRY_RUN_SETS_OF_PEOPLE}`, valueKeys(entityId, people));
    yield* rows;
  },
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM dry_run_sets WHERE ctid = ANY (ARRAY(
       SELECT d.ctid FROM dry_run_sets d ${DRY_RUN_SETS_OF_PEOPLE} LIMIT ${BATCH}))`, valueKeys(entityId, people)),
};

const DRY_RUN_SETS_OF_PEOPLE = `WHERE d.entity_id = $1
  AND (d.customer_id, d.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;

const importErrors: PersonalDataPlace = {
  name: 'import_errors',
  columns: ['customer_id', 'attribute_key', 'message', 'raw', 'customer_hash'],
  otherColumns: ['entity_id', 'import_id', 'line', 'error_type', 'outcome', 'happened_at', 'stage', 'redriven_by', 'original_line'],
  foundBy: 'customer_id, and the fields of any record of which nobody could tell it',
  count: ({ db }, entityId, people) => countRows(db, `import_errors WHERE ${ERRORS_NAMING}`, errorKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT line, error_type, happened_at, message, customer_id, attribute_key, raw FROM import_errors
       WHERE ${ERRORS_NAMING}`, errorKeys(entityId, people));
    yield* rows;
  },
  // The rows stay, since the import's counts rest on them; what they tell of the person goes.
  async erase({ db, secrets }, entityId, people) {
    let erased = 0;
    for (const person of people) {
      erased += await inBatches(db,
        `UPDATE import_errors SET customer_id = NULL, raw = NULL, attribute_key = NULL, message = 'erased', customer_hash = $3
         WHERE ctid = ANY (ARRAY(SELECT ctid FROM import_errors WHERE ${ERRORS_NAMING} LIMIT ${BATCH}))`,
        [...errorKeys(entityId, [person]), secrets.customerHash(entityId, person.customerType, person.customerId)]);
    }
    return erased;
  },
};

/**
 * By customer_id; where nobody could read that out of the record, by the id's standing in it as a word of its own, its quotes
 * as they are or doubled.
 */
const ERRORS_NAMING = String.raw`entity_id = $1 AND (customer_id = ANY ($2::text[])
  OR customer_id IS NULL AND EXISTS (
    SELECT FROM unnest($2::text[]) AS id, regexp_replace(id, '([!-/:-@[-^{-~ \`])', '\\\1', 'g') AS escaped
    WHERE raw ~ ('(^|[^[:alnum:]_])' || replace(escaped, '"', '"+') || '($|[^[:alnum:]_])')))`;

function errorKeys(entityId: number, people: Person[]): unknown[] {
  return [entityId, people.map(({ customerId }) => customerId)];
}

const feedRequests: PersonalDataPlace = {
  name: 'feed_requests',
  columns: ['body'],
  otherColumns: ['entity_id', 'id', 'identifier', 'sor_id', 'version', 'received_at', 'body_bytes', 'values_in', 'values_ok',
    'values_ignored', 'values_failed', 'done_at'],
  foundBy: 'customer_id and customer_id_type of each value that still waits to be merged; then the body is gone',
  async count({ db }, entityId, people) {
    return (await Array.fromAsync(listWaitingValuesOf(db, entityId, people))).length;
  },
  export: ({ db }, entityId, people) => listWaitingValuesOf(db, entityId, people),
  erase: eraseWaitingValuesOf,
};

const pinnedFiles: PersonalDataPlace = {
  name: 'imports/',
  columns: [],
  otherColumns: [],
  foundBy: 'the pinned files of the entity in one of whose records a field is the id',
  async count(needs, entityId, people) {
    const files = new Set<string>();
    for await (const { fileKey } of listPinnedLinesOf(needs, entityId, people)) files.add(fileKey);
    return files.size;
  },
  export: (needs, entityId, people) => listPinnedLinesOf(needs, entityId, people),
  // A pinned file is only kept to show what an import read: the whole file goes once the import has ended.
  erase: deletePinnedFilesOf,
};

const auditLog: PersonalDataPlace = {
  name: 'audit_log',
  columns: ['customer_hash'],
  otherColumns: ['entity_id', 'id', 'happened_at', 'actor_kind', 'actor_id', 'address', 'action', 'subject_kind', 'subject', 'details'],
  foundBy: 'customer_hash, a keyed hash that names nobody without the server\'s key',
  count: async () => 0,
  async* export({ db, secrets }, entityId, people) {
    const { rows } = await db.query(
      `SELECT happened_at, actor_kind, actor_id, action, subject_kind, subject FROM audit_log
       WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[]) ORDER BY id`, [entityId, hashes(secrets, entityId, people)]);
    yield* rows;
  },
  erase: null,
};

const tombstones: PersonalDataPlace = {
  name: 'tombstones',
  columns: ['customer_hash'],
  otherColumns: ['entity_id', 'raised_at'],
  foundBy: 'customer_hash: it is what keeps an erased person erased',
  count: async () => 0,
  async* export({ db, secrets }, entityId, people) {
    const { rows } = await db.query(
      'SELECT raised_at FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[])',
      [entityId, hashes(secrets, entityId, people)]);
    yield* rows;
  },
  erase: null,
};

/**
 * Every place that may hold something about a customer, in the order in which somebody is erased: the change log before
 * the customers, which are added from it. A new table or file area joins here, or the list below.
 */
export const personalData: PersonalDataPlace[] = [
  attributeValues, changeLog, customers, dryRunSets, importErrors, feedRequests, pinnedFiles, auditLog, tombstones,
];

/** Tables and file areas that hold nothing about customers. */
export const withoutPersonalData = [
  'schema_migrations', 'entities', 'users', 'memberships', 'tokens', 'service_tokens', 'login_attempts', 'server_keys', 'key_lookups',
  'systems_of_records', 'sor_api_keys', 'customer_attributes', 'imports', 'import_lanes', 'idempotent_requests', 'connections', 'keys/',
];

function hashes(secrets: Secrets, entityId: number, people: Person[]): Buffer[] {
  return people.map(({ customerType, customerId }) => secrets.customerHash(entityId, customerType, customerId));
}

async function countRows(db: Queryable, from: string, parameters: unknown[]): Promise<number> {
  const { rows } = await db.query<{ rows: number }>(`SELECT count(*) AS rows FROM ${from}`, parameters);
  return rows[0]!.rows;
}
