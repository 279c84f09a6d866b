import { inBatches } from '../../core/in-batches.ts';
import { knownToSors, peopleKeys } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';

const DRY_RUN_IDS_OF_PEOPLE = `WHERE d.entity_id = $1
  AND (d.customer_id, d.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;

/** The parameters of statements over them. */
const keysOf = (entityId: number, people: readonly KnownBy[]) => peopleKeys(entityId, knownToSors(people));

export const dryRunIds: PersonalDataLocation = {
  name: 'dry_run_ids',
  columns: ['customer_id', 'customer_type', 'line'],
  otherColumns: ['entity_id', 'import_id'],
  holds: 'the ids of the rows of a running dry run, with their first lines',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows; the sweep does so when the dry run has ended',
  count: ({ db }, entityId, people) => countRows(db, `dry_run_ids d ${DRY_RUN_IDS_OF_PEOPLE}`, keysOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT d.customer_id, d.line FROM dry_run_ids d ${DRY_RUN_IDS_OF_PEOPLE}`, keysOf(entityId, people));
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) => inBatches(db,
    `DELETE FROM dry_run_ids WHERE ctid = ANY (ARRAY(
       SELECT d.ctid FROM dry_run_ids d ${DRY_RUN_IDS_OF_PEOPLE} LIMIT ${BATCH}))`, keysOf(entityId, people), tally),
};
