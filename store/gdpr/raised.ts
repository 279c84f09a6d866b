import type { JobKey } from '../../domain/jobs/job.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Person } from './tombstones.ts';

type Of = Pick<JobKey, 'entityId' | 'jobId'>;

/** By whom a tombstone is looked for, and its hash. */
export type Hashed = Person & { hash: Buffer };

const GIVEN = `unnest($3::text[], $4::text[], $5::text[]) AS given (kind, value, hash)`;

function given(people: readonly Hashed[]): unknown[] {
  return [
    people.map(({ customerType }) => customerType),
    people.map(({ customerId }) => customerId),
    people.map(({ hash }) => hash.toString('hex')),
  ];
}

/** Notes that the tombstones of these ids were raised by this request, and by no other. */
export async function updateRaised(
  tx: Tx,
  { entityId, jobId }: Of,
  people: readonly Hashed[],
  raised: readonly Buffer[],
): Promise<void> {
  const hashes = new Set(raised.map((hash) => hash.toString('hex')));
  const theirs = people.filter(({ hash }) => hashes.has(hash.toString('hex')));
  if (theirs.length === 0) return;
  await tx.query(
    `UPDATE gdpr_identifiers i SET raised = true FROM ${GIVEN}
     WHERE i.entity_id = $1 AND i.request_id = $2 AND i.kind = given.kind AND i.value = given.value`,
    [entityId, jobId, ...given(theirs)],
  );
}

/** Of some people those whose tombstones the request has raised, whoever has erased them since. */
export async function listRaised(
  db: Queryable,
  { entityId, jobId }: Of,
  ordinals: readonly number[],
): Promise<Person[]> {
  const { rows } = await db.query<{ kind: Person['customerType']; value: string }>(
    `SELECT kind, value FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND raised AND ordinal = ANY ($3)`,
    [entityId, jobId, ordinals],
  );
  return rows.map(({ kind, value }) => ({ customerType: kind, customerId: value }));
}

/**
 * The hashes of those whom no other request needs kept out: none erases them at this moment, and none has, with a
 * receipt, since their tombstones were raised. `tx` has locked the entity's batches.
 */
export async function listNotErased(tx: Tx, { entityId, jobId }: Of, people: readonly Hashed[]): Promise<Buffer[]> {
  // Receipts by gdpr_receipts_by_subject; identifiers of the few requests that are under way.
  const { rows } = await tx.query<{ hash: Buffer }>(
    `SELECT t.customer_hash AS hash FROM ${GIVEN} JOIN tombstones t ON t.entity_id = $1 AND t.customer_hash = decode(given.hash, 'hex')
     WHERE NOT EXISTS (
         SELECT FROM gdpr_receipts e WHERE e.entity_id = $1 AND e.subjects @> ARRAY[t.customer_hash] AND e.request_type = 'delete'
           AND e.issued_at >= t.raised_at)
       AND NOT EXISTS (
         SELECT FROM gdpr_identifiers i JOIN gdpr_request_people p
           ON p.entity_id = $1 AND p.request_id = i.request_id AND p.ordinal = i.ordinal AND p.state = 'pending' AND p.round IS NOT NULL
         WHERE i.entity_id = $1 AND i.request_id <> $2 AND i.kind = given.kind AND i.value = given.value)`,
    [entityId, jobId, ...given(people)],
  );
  return rows.map(({ hash }) => hash);
}
