/** Locations of personal data in syncs: batches under way, known records, runs with their cursors and samples, logs. */
import { ERASED } from '../../domain/core/erased.ts';
import { inBatches } from '../core/in-batches.ts';
import { namedIn } from '../gdpr/named-in.ts';
import { customerKeys, knownToSors } from '../gdpr/people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../gdpr/personal-data-location.ts';
import { rowsOfCustomers } from '../gdpr/rows-of-people.ts';
import { replacedIn, textsOfPeople } from '../gdpr/texts-of-people.ts';

const dryRunSets = rowsOfCustomers({
  name: 'dry_run_sets',
  columns: 'customer_id, customer_type, set_elements, set_times',
  otherColumns: 'entity_id, import_id, attribute_id',
  shown: 'customer_id, set_elements, set_times',
  holds: 'Sets as a running dry run has left them',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows; the sweep does so when the dry run has ended',
  keptFor: 'until the dry run has ended',
});

const runOf = (table: string) =>
  `(SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = ${table}.run_id)`;
const hasRunEnded = (table: string) =>
  `NOT EXISTS (SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.id = ${table}.run_id AND r.ended_at IS NULL)`;

/**
 * A running run's batch stays until its outcomes are recorded: it may have been sent, and after a crash the same batch
 * must be sent again. The erasure retries. An ended run's batch is never sent.
 */
const syncBatches = textsOfPeople({
  name: 'sync_batches',
  keys: { run_id: 'bigint', records_before: 'bigint' },
  rowsAtOnce: 10,
  texts: ['batch', 'outcomes'],
  otherColumns: 'entity_id, run_id, records_before, records, identifier, sent',
  holds: 'the records on their way to another destination',
  foundBy: 'the id within them',
  erasedBy: 'deleting the batch, once its run has ended',
  keptFor: 'until the outcomes are recorded, mostly within seconds',
  within: 'identifier',
  changeable: hasRunEnded('sync_batches'),
});

/** A running run's batch stays until its records are merged, without erased people; the erasure retries. */
const syncPinnedBatches = textsOfPeople({
  name: 'sync_pinned_batches',
  keys: { run_id: 'bigint', number: 'integer' },
  rowsAtOnce: 10,
  texts: ['position', 'items'],
  otherColumns: 'entity_id, run_id, number, records_before',
  holds: 'the records of a batch during its merge, for seconds',
  foundBy: 'the id within them',
  erasedBy: 'deleting the batch, once its run has ended; the merge itself leaves out erased people',
  keptFor: 'until the batch is merged, mostly within seconds',
  within: runOf('sync_pinned_batches'),
  changeable: hasRunEnded('sync_pinned_batches'),
});

const PEOPLE = 'unnest($2::text[], $3::text[]) AS p (customer_id, customer_type)';

/** Finds records by customer: for attributes by the primary key, else by the index on customers. */
const FOUND = `
  SELECT r.ctid FROM ${PEOPLE}
  JOIN syncs s ON s.entity_id = $1 AND s.sor_id IS NOT NULL AND s.mapping -> 'customer' ->> 'type' = p.customer_type
  CROSS JOIN LATERAL (SELECT ctid FROM sync_records WHERE entity_id = $1 AND sync_id = s.id AND key = p.customer_id OFFSET 0) r
  UNION
  SELECT r.ctid FROM ${PEOPLE}
  CROSS JOIN LATERAL (SELECT ctid, sync_id FROM sync_records WHERE entity_id = $1 AND customer_id = p.customer_id OFFSET 0) r
  JOIN syncs s ON s.entity_id = $1 AND s.id = r.sync_id
    AND coalesce(s.mapping -> 'customer' ->> 'type', 'user_id') = p.customer_type`;

const RECORDS_OF_PEOPLE = `sync_records k WHERE k.ctid = ANY (ARRAY(${FOUND}))`;

const keysOf = (entityId: number, people: readonly KnownBy[]) => customerKeys(entityId, knownToSors(people));

/** Records by the keys of other destinations, in which the id may stand under another name. */
const byKeyOfOthers = textsOfPeople({
  name: 'sync_records',
  keys: { sync_id: 'integer', key: 'text' },
  columns: 'key, customer_id, checksum',
  otherColumns: 'entity_id, sync_id, run_id, seen_by, source_key, is_deleted, has_other_sources',
  holds: "the fact that a sync brought a customer's record, and a checksum of the record",
  foundBy: 'customer type and id; the id within keys of other destinations',
  erasedBy: 'deleting the rows',
  keptFor: 'until the sync is deleted',
  texts: ['key'],
  text: `CASE WHEN sync_id IN (SELECT id FROM syncs WHERE entity_id = $1 AND destination_id IS NOT NULL)
    THEN concat_ws(E'\\n', key, customer_id) END`,
  naming: `${namedIn('key')} AND NOT EXISTS (
    SELECT FROM unnest($4::text[], $5::text[]) AS p (id, type) JOIN syncs s ON s.entity_id = $1 AND s.id = sync_records.sync_id
      AND coalesce(s.mapping -> 'customer' ->> 'type', 'user_id') = p.type
    WHERE p.id = sync_records.customer_id)`,
  within: '(SELECT s.identifier FROM syncs s WHERE s.entity_id = $1 AND s.id = sync_records.sync_id)',
});

export const syncRecords: PersonalDataLocation = {
  ...byKeyOfOthers,
  async count(deps, entityId, people) {
    return (
      (await countRows(deps.db, RECORDS_OF_PEOPLE, keysOf(entityId, people))) +
      (await byKeyOfOthers.count(deps, entityId, people))
    );
  },
  async *export(deps, entityId, people) {
    const { rows } = await deps.db.query(
      `SELECT s.identifier AS sync, s.name AS sync_name, source.name AS source_name,
              coalesce(sor.name, destination.name) AS destination_name, s.destination_stream, found.key, found.customer_id
       FROM (SELECT k.* FROM ${RECORDS_OF_PEOPLE}) found JOIN syncs s ON s.entity_id = $1 AND s.id = found.sync_id
       LEFT JOIN connections source ON source.entity_id = $1 AND source.id = s.connection_id
       LEFT JOIN connections destination ON destination.entity_id = $1 AND destination.id = s.destination_id
       LEFT JOIN systems_of_records sor ON sor.entity_id = $1 AND sor.id = s.sor_id`,
      keysOf(entityId, people),
    );
    yield* rows;
    yield* byKeyOfOthers.export(deps, entityId, people);
  },
  // If the source still has the record, it counts as new: the merge refuses it, as its person is erased.
  async erase(deps, entityId, people) {
    const found = await inBatches(
      deps.db,
      `DELETE FROM sync_records WHERE ctid = ANY (ARRAY(SELECT ctid FROM (${FOUND}) found LIMIT ${BATCH}))`,
      keysOf(entityId, people),
      deps.tally,
    );
    return found + (await byKeyOfOthers.erase(deps, entityId, people));
  },
};

/** A record of a sample that names a person; its line and outcome name none. */
const NAMED_RECORD = namedIn(`(record - '{line,outcome}'::text[])::text`);
const SAMPLE_NAMING = `EXISTS (SELECT FROM jsonb_array_elements(sample) AS record WHERE ${NAMED_RECORD})`;

const CURSORS = ['cursor_before', 'position'];
const REASONS = ['fault', 'failure', 'removal_reason'];

/**
 * The rows stay, for their counts. A running run that loses its position continues from memory; if it must start anew,
 * from the beginning.
 */
const syncRuns = textsOfPeople({
  name: 'sync_runs',
  keys: { id: 'bigint' },
  rowsAtOnce: 100,
  texts: [...CURSORS, ...REASONS, 'sample::text'],
  columns: `${CURSORS.join(', ')}, ${REASONS.join(', ')}, sample`,
  otherColumns: `entity_id, id, identifier, sync_id, cause, requested_by, scheduled_for, covers, dry_run,
    dry_run_records, fresh, removals_confirmed, root_id, state, generation, workflow_run_id, received_at, started_at, ended_at,
    canceled_at, is_begun, stage, is_read, records_read, records_written, records_unchanged, records_ignored,
    records_failed, unnamed, suspicious_ids, errors_by_type, bytes, batches_taken, records_taken, lanes_done, removed,
    removal, schema_change, unmapped_fields, odd_cursors, missing_fields, answered, share, tries, failing_since,
    waits_until, failure_status, mail_state, mail_tries, mail_reason, mail_due_at, alert, fields_read, requests,
    deletions_ignored, unidentified`,
  holds: "a run's cursors and faults, the records that a dry run shows",
  foundBy: 'the id within them',
  erasedBy:
    'replacing a cursor with NULL and a text with `erased`, and removing the records; the rows stay, since ' +
    'they are the history',
  keptFor: '30 days after the end of the run',
  naming: [...[...CURSORS, ...REASONS].map(namedIn), SAMPLE_NAMING].join(' OR '),
  within: 'identifier',
  emptied: [
    ...CURSORS.map((column) => replacedIn(column, 'NULL')),
    ...REASONS.map((column) => replacedIn(column)),
    `sample = CASE WHEN ${SAMPLE_NAMING} THEN (
       SELECT coalesce(jsonb_agg(record ORDER BY ordinal), '[]') FROM jsonb_array_elements(sample) WITH ORDINALITY AS shown (record, ordinal)
       WHERE NOT ${NAMED_RECORD}) ELSE sample END`,
  ].join(', '),
});

/** Without a cursor the next run reads from the beginning, and writes nothing that is known and unchanged. */
const syncs = textsOfPeople({
  name: 'syncs',
  keys: { id: 'integer' },
  texts: ['cursor', 'paused_reason'],
  otherColumns: `entity_id, id, identifier, name, connection_id, stream, sor_id, destination_id, destination_stream,
    destination_key, mapping, mode, cursor_field, removes, removal_limit, schedule, schema_rule, alerts, revision,
    known_fields, read_fields, failures, paused_at, has_copies, scheduled_until, created_by, created_at, updated_at,
    deleted_at`,
  holds: 'the cursor of the next run, the reason for a pause',
  foundBy: 'the id within them',
  erasedBy: 'replacing these with NULL and `erased`',
  keptFor: 'until the sync is deleted',
  within: 'identifier',
  emptied: `${replacedIn('cursor', 'NULL')}, ${replacedIn('paused_reason')}`,
});

const syncLog = textsOfPeople({
  name: 'sync_log',
  writtenAt: 'logged_at',
  keys: { run_id: 'bigint', id: 'bigint' },
  texts: ['line'],
  otherColumns: 'entity_id, run_id, id, logged_at',
  holds: 'messages of sources and destinations',
  foundBy: 'the id within a line',
  erasedBy: 'replacing the line with `erased`',
  keptFor: '30 days after the end of the run',
  within: runOf('sync_log'),
  emptied: `line = '${ERASED}'`,
});

const syncRequests = textsOfPeople({
  name: 'sync_requests',
  writtenAt: 'written_at',
  keys: { run_id: 'bigint', id: 'bigint' },
  texts: ['path'],
  otherColumns: 'entity_id, run_id, id, sent_at, written_at, method, status, milliseconds',
  holds: 'paths of requests to sources and destinations',
  foundBy: 'the id within a path',
  erasedBy: 'replacing the path with `erased`',
  keptFor: '30 days after the end of the run',
  within: runOf('sync_requests'),
  emptied: `path = '${ERASED}'`,
});

export const syncsData: PersonalDataLocation[] = [
  dryRunSets,
  syncBatches,
  syncPinnedBatches,
  syncRecords,
  syncRuns,
  syncs,
  syncLog,
  syncRequests,
];
