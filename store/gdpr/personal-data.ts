/** Locations of personal data in privacy requests: people, ids, archives, holds, tombstones, receipts. */
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, write } from '../core/database.ts';
import { countNotedFiles, deleteNotedFiles, noteFileDeletions } from '../core/file-deletions.ts';
import { inBatches } from '../core/in-batches.ts';
import { archivePrefix } from './archives.ts';
import { customerKeys, hashesOf, idsOf, idsOfType } from './people-keys.ts';
import {
  BATCH,
  type ColumnsOfItsTable,
  countRows,
  type DescribedLocation,
  type ErasingLocation,
  type KnownBy,
  type LocationDependencies,
  type PersonalDataLocation,
  withColumns,
} from './personal-data-location.ts';
import { KEPT_FOR } from './request-record.ts';
import { keyedHashes, rowsOfCustomers } from './rows-of-people.ts';

/** People of requests, of $1 the entity, by gdpr_people_by_user ($2) and gdpr_people_by_device ($3). */
const IN_REQUESTS = `gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
  WHERE p.entity_id = $1 AND (p.user_id = ANY ($2::text[]) OR p.user_id IS NULL AND p.device_id = ANY ($3::text[]))`;

/** A deletion request keeps its rows until its week is over: they show that it was done. */
const SHOWN_TO_THEM = `${IN_REQUESTS} AND r.request_type = 'access'`;

/** Access requests of other users from a device of theirs. */
const ASKED_FROM = `gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
  WHERE p.entity_id = $1 AND p.user_id <> ALL ($2::text[]) AND p.device_id = ANY ($3::text[]) AND r.request_type = 'access'`;

export const gdprRequestPeople: PersonalDataLocation = {
  ...withColumns({
    name: 'gdpr_request_people',
    columns: `user_id, device_id, subject, state, treated_at, round, archive_key, archive_bytes, archive_sha256,
      archive_others, message, shown`,
    otherColumns: 'entity_id, request_id, ordinal',
    holds: "the fact that somebody requested a person's data or its deletion",
    foundBy: 'user id; device id',
    erasedBy:
      'deleting the rows of access requests, and emptying the device from which another user requested ' +
      'access; the worker first gives up an archive that it is writing. A deletion request keeps its rows for its ' +
      'week; if one waits for approval and names no other user id, it is done',
    keptFor: 'a week after the request was treated or declined',
  }),
  async count({ db }, entityId, people) {
    const ids = idsOf(entityId, people);
    return (await countRows(db, SHOWN_TO_THEM, ids)) + (await countRows(db, ASKED_FROM, ids));
  },
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, r.request_type, r.source, r.received_at, p.ordinal, p.user_id, p.device_id, p.state, p.treated_at, p.round,
         p.message FROM ${IN_REQUESTS} ORDER BY r.id, p.ordinal`,
      idsOf(entityId, people),
    );
    yield* rows;
  },
  // Gives up an archive that is being written for them: its writer stops within a second. The next try deletes the row,
  // which is a survivor until then.
  async erase({ db, tally }, entityId, people) {
    const keys = idsOf(entityId, people);
    const deleted = await inBatches(
      db,
      `DELETE FROM gdpr_request_people WHERE ctid = ANY (ARRAY(
         SELECT p.ctid FROM ${SHOWN_TO_THEM} AND p.state <> 'building' LIMIT ${BATCH}))`,
      keys,
      tally,
    );
    await inBatches(
      db,
      `UPDATE gdpr_request_people SET state = 'treated', treated_at = now(), archive_key = NULL WHERE ctid = ANY (ARRAY(
         SELECT p.ctid FROM ${SHOWN_TO_THEM} AND p.state = 'building' LIMIT ${BATCH}))`,
      keys,
    );
    await write(db, (tx) => tx.query(END_WAITING, keys));
    return (
      deleted +
      (await inBatches(
        db,
        `UPDATE gdpr_request_people SET device_id = NULL WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM ${ASKED_FROM} LIMIT ${BATCH}))`,
        keys,
        tally,
      ))
    );
  },
};

/**
 * Ends a deletion request that waits for approval, if this erasure covers all of its people. Locks the requests first:
 * one that staff approve at this moment runs as usual.
 */
const END_WAITING = `WITH waiting AS MATERIALIZED (
    SELECT id FROM gdpr_requests WHERE entity_id = $1 AND request_type = 'delete' AND state = 'waiting' AND id IN (
      SELECT r.id FROM ${IN_REQUESTS} AND r.request_type = 'delete' AND r.state = 'waiting') ORDER BY id FOR NO KEY UPDATE),
  theirs AS (
    UPDATE gdpr_request_people SET state = 'treated', treated_at = now() WHERE ctid = ANY (ARRAY(
      SELECT p.ctid FROM ${IN_REQUESTS} AND r.id IN (SELECT id FROM waiting) AND p.state <> 'treated'))
    RETURNING request_id, ordinal)
  UPDATE gdpr_requests q SET state = 'treated', treated_at = now(), expires_at = now() + ${KEPT_FOR}, updated_at = now()
  WHERE q.entity_id = $1 AND q.state = 'waiting' AND q.id IN (SELECT request_id FROM theirs)
    AND NOT EXISTS (SELECT FROM gdpr_request_people o WHERE o.entity_id = $1 AND o.request_id = q.id AND o.state <> 'treated'
      AND (o.request_id, o.ordinal) NOT IN (SELECT request_id, ordinal FROM theirs))`;
const ARCHIVES_OF_THEM = `${IN_REQUESTS} AND p.archive_key IS NOT NULL`;

/** Devices' archives with records of people (hashes $4), or from versions that did not record this. */
const SHOWING_THEM = `gdpr_request_people p WHERE p.entity_id = $1 AND p.archive_key IS NOT NULL AND p.state = 'treated'
  AND coalesce(p.archive_others && $4::bytea[], p.user_id IS NULL)
  AND NOT (coalesce(p.user_id = ANY ($2::text[]), p.device_id = ANY ($3::text[])))`;

const NO_LONGER_THERE = 'The archive held data of another person who was erased since: request it again';

export const archives: PersonalDataLocation = {
  name: 'access/',
  columns: [],
  otherColumns: [],
  holds: 'archives of access requests',
  foundBy: "the request's people; the other users whose records a device's archive shows, by keyed hash",
  erasedBy: "deleting the file; the device's request then says why",
  keptFor: 'a week after the request was treated',
  async count(deps, entityId, people) {
    const unknown = await Array.fromAsync(listUnknown(deps, entityId));
    const showing = await countRows(deps.db, SHOWING_THEM, [
      ...idsOf(entityId, people),
      hashesOf(deps.secrets, entityId, people),
    ]);
    return (
      unknown.length +
      showing +
      (await countNotedFiles(deps.db, entityId, 'access/')) +
      (await countRows(deps.db, ARCHIVES_OF_THEM, idsOf(entityId, people)))
    );
  },
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier AS request, p.ordinal, coalesce(p.user_id, p.device_id) AS customer_id, p.archive_key, p.archive_bytes
       FROM ${ARCHIVES_OF_THEM} AND p.state = 'treated' ORDER BY r.id, p.ordinal`,
      idsOf(entityId, people),
    );
    yield* rows;
  },
  // An archive that is being written is left to its writer, which stops when the row says so.
  async erase(deps, entityId, people) {
    // An erasure noted these before its process was killed.
    await deleteNotedFiles(deps, entityId, 'access/');
    const rows = readRows<ArchiveRow>(
      await deps.db.query(
        `SELECT p.request_id, p.ordinal, p.archive_key FROM ${ARCHIVES_OF_THEM} AND p.state <> 'building'`,
        idsOf(entityId, people),
      ),
    );
    const showing = readRows<ArchiveRow>(
      await deps.db.query(`SELECT p.request_id, p.ordinal, p.archive_key FROM ${SHOWING_THEM}`, [
        ...idsOf(entityId, people),
        hashesOf(deps.secrets, entityId, people),
      ]),
    );
    let deleted = 0;
    for (const row of rows) deleted += await deleteArchive(deps, entityId, row);
    for (const row of showing) deleted += await deleteArchive(deps, entityId, row, NO_LONGER_THERE);
    for await (const key of listUnknown(deps, entityId)) {
      await write(deps.db, async (tx) => {
        if ((await noteFileDeletions(tx, entityId, [key])) > 0) await deps.tally?.(tx, 1);
      });
      await deleteNotedFiles(deps, entityId, key);
      deleted += 1;
    }
    return deleted;
  },
};

type ArchiveRow = Row<'gdpr_request_people', 'requestId' | 'ordinal', { archiveKey: string }>;

async function deleteArchive(
  deps: LocationDependencies,
  entityId: number,
  row: ArchiveRow,
  message: string | null = null,
): Promise<number> {
  const deleted = await write(deps.db, async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE gdpr_request_people SET archive_key = NULL, archive_bytes = NULL, archive_sha256 = NULL, archive_others = NULL,
         message = coalesce($5, message)
       WHERE entity_id = $1 AND request_id = $2 AND ordinal = $3 AND archive_key = $4`,
      [entityId, row.requestId, row.ordinal, row.archiveKey, message],
    );
    if (rowCount !== 1) return 0;
    await noteFileDeletions(tx, entityId, [row.archiveKey]);
    await deps.tally?.(tx, 1);
    return 1;
  });
  await deleteNotedFiles(deps, entityId, row.archiveKey);
  return deleted;
}

/** Yields the keys of files that no row names: their writers were killed, or stopped. */
async function* listUnknown(
  { db, files }: Pick<LocationDependencies, 'db' | 'files'>,
  entityId: number,
): AsyncGenerator<string> {
  for (const request of await listAccessRequests(db, entityId)) {
    const keys: string[] = [];
    for await (const { key } of files.list(archivePrefix({ identifier: request }))) keys.push(key);
    if (keys.length === 0) continue;
    const { rows } = await db.query<{ key: string }>(
      `SELECT key FROM unnest($3::text[]) AS stored (key) WHERE NOT EXISTS (
         SELECT FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = p.request_id AND r.identifier = $2
         WHERE p.entity_id = $1 AND p.archive_key = stored.key)
         AND NOT EXISTS (SELECT FROM file_deletions d WHERE d.entity_id = $1 AND d.file_key = stored.key)`,
      [entityId, request, keys],
    );
    yield* rows.map(({ key }) => key);
  }
}

async function listAccessRequests(db: Database, entityId: number): Promise<string[]> {
  const { rows } = await db.query<Row<'gdpr_requests', 'identifier'>>(
    `SELECT identifier FROM gdpr_requests WHERE entity_id = $1 AND request_type = 'access' ORDER BY id`,
    [entityId],
  );
  return rows.map(({ identifier }) => identifier);
}

type IdsOfRequests = DescribedLocation & {
  own: string;
  /** Rows of others to which an id of the person led (`via`), in the same way. */
  ledTo: string;
  /** The parameters of both: the entity, and two arrays of ids and their kinds. */
  parameters: (entityId: number, people: readonly KnownBy[]) => unknown[];
  shown: string;
};

/** Makes a location of ids. Erasure deletes the person's rows, and empties `via` of others. */
function idsOfRequests<const D extends IdsOfRequests>(described: D & ColumnsOfItsTable<D>): ErasingLocation;
function idsOfRequests({ own, ledTo, parameters, shown, ...described }: IdsOfRequests): ErasingLocation {
  const { name } = described;
  const theirs = (from: string) => `WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM ${from} LIMIT ${BATCH}))`;
  return {
    ...withColumns(described),
    async count({ db }, entityId, people) {
      const ids = parameters(entityId, people);
      return (await countRows(db, own, ids)) + (await countRows(db, ledTo, ids));
    },
    async *export({ db }, entityId, people) {
      const { rows } = await db.query(
        `SELECT r.identifier, i.kind, i.value, i.${shown} FROM ${own} ORDER BY r.id, i.kind, i.value`,
        parameters(entityId, people),
      );
      yield* rows;
    },
    async erase({ db, tally }, entityId, people) {
      const ids = parameters(entityId, people);
      const deleted = await inBatches(db, `DELETE FROM ${name} ${theirs(own)}`, ids, tally);
      return deleted + (await inBatches(db, `UPDATE ${name} SET via = NULL ${theirs(ledTo)}`, ids, tally));
    },
  };
}

/** Rows that may be erased, not those of a running deletion, which finds its people by them. */
const ERASABLE = `(r.request_type = 'access' OR i.origin <> 'asked' AND EXISTS (
    SELECT FROM gdpr_request_people p
    WHERE p.entity_id = $1 AND p.request_id = i.request_id AND p.ordinal = i.ordinal AND p.round IS NULL))`;

/** Includes whole devices: a person's own device may have made a request for itself. */
function kindsAndValues(entityId: number, people: readonly KnownBy[]): unknown[] {
  const devices = idsOfType(people, 'device_id');
  return [
    entityId,
    [...people.map(({ customerType }) => customerType), ...devices.map(() => 'whole_device')],
    [...people.map(({ customerId }) => customerId), ...devices],
  ];
}

/** Collected ids. Uses the primary key and the index gdpr_identifiers_by_via. */
const gdprIdentifiers = idsOfRequests({
  name: 'gdpr_identifiers',
  columns: 'kind, value, origin, via',
  otherColumns: 'entity_id, request_id, ordinal, raised',
  holds: 'the ids of the people of a running request, and the id that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy:
    "deleting the rows, and emptying the id that led to another person's; a deletion that has begun keeps " +
    'its rows until its end',
  keptFor: 'until the request has ended',
  own: `gdpr_requests r CROSS JOIN LATERAL (
      SELECT i.ctid, i.kind, i.value, i.origin FROM gdpr_identifiers i
      WHERE i.entity_id = $1 AND i.request_id = r.id AND (i.kind, i.value) IN (SELECT * FROM unnest($2::text[], $3::text[]))
        AND ${ERASABLE}) AS i
    WHERE r.entity_id = $1`,
  // A user's id led to users and devices, a device's to push tokens.
  ledTo: `gdpr_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
    WHERE i.entity_id = $1 AND (i.via, CASE i.kind WHEN 'push_token' THEN 'device_id' ELSE 'user_id' END)
      IN (SELECT * FROM unnest($3::text[], $2::text[])) AND ${ERASABLE}`,
  parameters: kindsAndValues,
  shown: 'origin',
});

/** Ids that were left alone. Uses the indexes gdpr_left_identifiers_by_value and gdpr_left_identifiers_by_via. */
const gdprLeftIdentifiers = idsOfRequests({
  name: 'gdpr_left_identifiers',
  columns: 'kind, value, via',
  otherColumns: 'entity_id, request_id, ordinal, reason',
  holds:
    'ids [linked to a person](gdpr.md#whose-word-links-ids) of a request that Millrace left alone, and the id ' +
    'that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy: "deleting the rows, and emptying the id that led to another person's; the rows also go with the request",
  keptFor: 'a week after the request was treated',
  own: `gdpr_left_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
    WHERE i.entity_id = $1 AND (i.value, i.kind) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
  // A user's id led there.
  ledTo: `gdpr_left_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
    WHERE i.entity_id = $1 AND (i.via, 'user_id') IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
  parameters: customerKeys,
  shown: 'reason',
});

/** A hold keeps its person from erasure: the holds that an erasure meets came after it had begun. */
const gdprHolds = rowsOfCustomers({
  name: 'gdpr_holds',
  columns: 'customer_type, customer_id, kind, reason, created_at',
  otherColumns: 'entity_id, id, identifier, created_by',
  holds: 'the fact that a person must not be erased, and why',
  foundBy: 'customer type and id',
  erasedBy:
    'deleting the row, which can only be a hold that came too late; if the reason of a hold on somebody else names the ' +
    'person, the receipt lists that hold in `kept_values`',
  keptFor: 'until the hold is released',
  where: '(r.customer_id, r.customer_type) IN (SELECT * FROM unnest($2::text[], $3::text[]))',
  parameters: customerKeys,
  shown: 'identifier, customer_type, customer_id, kind, reason, created_at',
  order: 'id',
});

const tombstones = keyedHashes({
  name: 'tombstones',
  columns: 'customer_hash',
  otherColumns: 'entity_id, raised_at',
  holds: 'the fact that a person was erased',
  keptFor: 'as long as the entity, or until the person is readmitted',
  shown: 'SELECT raised_at FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[])',
});

const tombstoneBatches = keyedHashes({
  name: 'tombstone_batches',
  columns: 'hashes',
  otherColumns: 'entity_id, key, kind, made_at, search_pending',
  holds: 'tombstones as files in `tombstones/`, from which Millrace restores them',
  keptFor: 'as long as the entity',
  shown: 'SELECT made_at, kind FROM tombstone_batches WHERE entity_id = $1 AND hashes && $2::bytea[] ORDER BY made_at',
});

const gdprReceipts = keyedHashes({
  name: 'gdpr_receipts',
  columns: 'subjects',
  otherColumns: 'entity_id, id, identifier, request_identifier, request_type, round, issued_at, document',
  holds: 'a signed record of the data shown or erased',
  keptFor: 'for good',
  shown: `SELECT identifier AS receipt, request_identifier AS request, request_type, round, issued_at FROM gdpr_receipts
    WHERE entity_id = $1 AND subjects && $2::bytea[] ORDER BY id`,
});

export const gdprData: PersonalDataLocation[] = [
  archives,
  gdprIdentifiers,
  gdprLeftIdentifiers,
  gdprRequestPeople,
  gdprHolds,
  tombstones,
  tombstoneBatches,
  gdprReceipts,
];
