import { inBatches } from '../../core/in-batches.ts';
import { customerKeys, knownToSors } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

const PEOPLE = 'unnest($2::text[], $3::text[]) AS p (customer_id, customer_type)';

/**
 * Where the destination is attributes the key is the customer's id: one look by the primary key for each sync and
 * person. Of other destinations those that name the customer are in an index.
 */
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

/** The keys of other destinations, in which the id may stand under another name, are gone through. */
const keysOfOthers = textsOfPeople({
  table: 'sync_records',
  keys: { sync_id: 'integer', key: 'text' },
  text: `CASE WHEN sync_id IN (SELECT id FROM syncs WHERE entity_id = $1 AND destination_id IS NOT NULL)
    THEN concat_ws(E'\\n', key, customer_id) END`,
  naming: `${namedIn('key')} AND NOT EXISTS (
    SELECT FROM unnest($4::text[], $5::text[]) AS p (id, type) JOIN syncs s ON s.entity_id = $1 AND s.id = sync_records.sync_id
      AND coalesce(s.mapping -> 'customer' ->> 'type', 'user_id') = p.type
    WHERE p.id = sync_records.customer_id)`,
  within: '(SELECT s.identifier FROM syncs s WHERE s.entity_id = $1 AND s.id = sync_records.sync_id)',
  change: 'DELETE FROM sync_records',
});

/** The parameters of statements with FOUND. */
const keysOf = (entityId: number, people: readonly KnownBy[]) => customerKeys(entityId, knownToSors(people));

export const syncRecords: PersonalDataLocation = {
  name: 'sync_records',
  after: ['sync_batches', 'sync_pinned_batches'],
  columns: ['key', 'customer_id', 'checksum'],
  otherColumns: ['entity_id', 'sync_id', 'run_id', 'seen_by'],
  holds: "the fact that a sync brought a customer's record, and a checksum of the record",
  foundBy: 'customer type and id; the id within keys of other destinations',
  erasedBy: 'deleting the rows',
  async count(deps, entityId, people) {
    return (
      (await countRows(deps.db, RECORDS_OF_PEOPLE, keysOf(entityId, people))) +
      (await keysOfOthers.count(deps, entityId, people))
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
    yield* keysOfOthers.export(deps, entityId, people);
  },
  // Should the source still have the record, it counts as new: of an erased person it is refused then.
  async erase(deps, entityId, people) {
    const found = await inBatches(
      deps.db,
      `DELETE FROM sync_records WHERE ctid = ANY (ARRAY(SELECT ctid FROM (${FOUND}) found LIMIT ${BATCH}))`,
      keysOf(entityId, people),
      deps.tally,
    );
    return found + (await keysOfOthers.erase(deps, entityId, people));
  },
};
