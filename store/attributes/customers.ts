/** Customers of an entity: everybody with a value. */
import { CUSTOMER_TYPES, type CustomerType } from '../../domain/attributes/customer-id.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, read, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { firstEntries } from './attribute-change-log.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

export type CustomerFilter = { customerType: CustomerType | null; customerIds: readonly string[] | null };

export type IdsByType = Record<CustomerType, string>;

/** First key of the advisory lock for adding and removing customers; the second is the entity's id. */
const CUSTOMERS_LOCK = 5_717_024;

/** At the end of a subquery, makes it run once a row and use the key, whatever size the planner assumes. */
const LOOKED_UP = 'OFFSET 0';

const FILTERED = `entity_id = $1 AND ($2::smallint IS NULL OR customer_type = $2)
  AND ($3::text[] IS NULL OR customer_id = ANY ($3))`;

/** Counts exactly; for a whole entity the planner may scan the table, in a third of the time. */
export async function countCustomers(tx: Tx, entityId: number, filter: CustomerFilter): Promise<number> {
  if (filter.customerIds !== null) await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ count: number }>(
    `SELECT count(*) FROM customers WHERE ${FILTERED}`,
    keys(entityId, filter),
  );
  return rows[0]!.count;
}

/** Lists customers by id (in the order of bytes), then type: from behind `after`, without the first `offset`. */
export async function listCustomers(
  tx: Tx,
  entityId: number,
  filter: CustomerFilter,
  { after, offset = 0, limit }: { after?: Person | null; offset?: number; limit: number },
): Promise<Person[]> {
  await tx.query(LOOK_UP_BY_KEY);
  // Reads one range of the primary key.
  const rows = readRows<Row<'customers', 'customerId'> & { customerType: number }>(
    await tx.query(
      `SELECT customer_id, customer_type FROM customers
     WHERE ${FILTERED} AND (customer_id, customer_type) > ($4, $5)
     ORDER BY customer_id, customer_type LIMIT $6 OFFSET $7`,
      [
        ...keys(entityId, filter),
        after?.customerId ?? '',
        after ? CUSTOMER_TYPE_CODE[after.customerType] : 0,
        limit,
        offset,
      ],
    ),
  );
  return rows.map((row) => ({ customerId: row.customerId, customerType: CUSTOMER_TYPES[row.customerType]! }));
}

function keys(entityId: number, { customerType, customerIds }: CustomerFilter): unknown[] {
  return [entityId, customerType === null ? null : CUSTOMER_TYPE_CODE[customerType], customerIds];
}

/** Adds the customers of all committed merges. Call it before reading `customers`. */
export async function addPendingCustomers(db: Database, entityId: number): Promise<void> {
  if (!(await read(db, (tx) => isSomePending(tx, entityId)))) return;
  while (
    await write(db, async (tx) => {
      await lockCustomers(tx, entityId);
      return addSomePending(tx, entityId);
    })
  );
}

async function isSomePending(tx: Tx, entityId: number): Promise<boolean> {
  await tx.query(LOOK_UP_BY_KEY);
  const { rowCount } = await tx.query('SELECT FROM attribute_change_log WHERE entity_id = $1 AND pending LIMIT 1', [
    entityId,
  ]);
  return rowCount! > 0;
}

/** Locks the list of the entity's customers against other changes until the transaction ends. */
export async function lockCustomers(tx: Tx, entityId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [CUSTOMERS_LOCK, entityId]);
}

/** Call it with `lockCustomers` held. */
async function addSomePending(tx: Tx, entityId: number): Promise<boolean> {
  await tx.query(LOOK_UP_BY_KEY);
  // FOR UPDATE: rereads an entry if an erasure has just removed a person from it.
  const { rows } = await tx.query<{ entries: number }>(
    `WITH first AS MATERIALIZED (${firstEntries('entity_id = $1 AND pending', 'id')}), entries AS MATERIALIZED (
       SELECT l.received_at, l.id, l.customer_type, l.customer_ids FROM first f JOIN attribute_change_log l
         ON l.entity_id = $1 AND l.received_at = f.received_at AND l.id = f.id
       ORDER BY l.received_at, l.id FOR UPDATE OF l
     ), added AS (
       INSERT INTO customers (entity_id, customer_id, customer_type)
       SELECT DISTINCT $1::integer, u.customer_id, e.customer_type
       FROM entries e CROSS JOIN LATERAL unnest(e.customer_ids) AS u (customer_id) WHERE u.customer_id IS NOT NULL
       ORDER BY customer_id, customer_type
       ON CONFLICT DO NOTHING
     ), done AS (
       UPDATE attribute_change_log l SET pending = false FROM entries e
       WHERE l.entity_id = $1 AND l.received_at = e.received_at AND l.id = e.id
     )
     SELECT count(*) AS entries FROM entries`,
    [entityId],
  );
  return rows[0]!.entries > 0;
}

/** Removes customers without values. Call it with `lockCustomers` held, in the transaction that deleted the values. */
export async function deleteValueless(tx: Tx, entityId: number, customers: IdsByType): Promise<void> {
  // First adds pending customers; else one who is pending because of a deleted value would be added later.
  while (await addSomePending(tx, entityId));
  await tx.query(
    `DELETE FROM customers WHERE ctid = ANY (ARRAY(
       SELECT c.tid FROM (
         SELECT customer_id, 0::smallint AS customer_type FROM unnest($2::text[]) AS customer_id
         UNION SELECT customer_id, 1::smallint FROM unnest($3::text[]) AS customer_id) k
       CROSS JOIN LATERAL (
         SELECT ctid AS tid FROM customers
         WHERE entity_id = $1 AND customer_id = k.customer_id AND customer_type = k.customer_type ${LOOKED_UP}) c
       WHERE NOT EXISTS (
         SELECT FROM systems_of_records s CROSS JOIN LATERAL (
           SELECT FROM attribute_values
           WHERE entity_id = $1 AND sor_id = s.id AND customer_id = k.customer_id AND customer_type = k.customer_type LIMIT 1) v
         WHERE s.entity_id = $1 ${LOOKED_UP})))`,
    [entityId, customers.user_id, customers.device_id],
  );
}
