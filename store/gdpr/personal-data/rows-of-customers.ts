import { inBatches } from '../../core/in-batches.ts';
import { knownToSors, peopleKeys } from '../people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../personal-data-location.ts';

type Described = Pick<PersonalDataLocation, 'name' | 'columns' | 'otherColumns' | 'holds' | 'erasedBy'> & {
  /** Columns that an archive shows. */
  shown: readonly string[];
};

/** The parameters of statements over them. */
const keysOf = (entityId: number, people: readonly KnownBy[]) => peopleKeys(entityId, knownToSors(people));

/**
 * Makes the location of a table each of whose rows is of one customer: found and deleted by `customer_id` and
 * `customer_type`.
 */
export function rowsOfCustomers({ shown, ...described }: Described): PersonalDataLocation {
  const { name } = described;
  const rowsOfPeople = `${name} d WHERE d.entity_id = $1
    AND (d.customer_id, d.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;
  return {
    ...described,
    foundBy: 'customer type and id',
    count: ({ db }, entityId, people) => countRows(db, rowsOfPeople, keysOf(entityId, people)),
    async *export({ db }, entityId, people) {
      const { rows } = await db.query(
        `SELECT ${shown.map((column) => `d.${column}`).join(', ')} FROM ${rowsOfPeople}`,
        keysOf(entityId, people),
      );
      yield* rows;
    },
    erase: ({ db, tally }, entityId, people) =>
      inBatches(
        db,
        `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM ${rowsOfPeople} LIMIT ${BATCH}))`,
        keysOf(entityId, people),
        tally,
      ),
  };
}
