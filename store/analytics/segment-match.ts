/** One person and one segment: whether it has the person, and which of its filters the person meets now. */
import { type Database, type Queryable, read } from '../core/database.ts';
import { subjectOf } from '../gdpr/people-keys.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { listPeopleOf } from './segment-members.ts';
import { segmentSettings, type SegmentQuery, segmentSql } from './segment-sql.ts';

/** `person`: the person that the id counts as in the app. `met`: of each filter, in the order of `eachFilter`. */
type Match = { person: string; isFound: boolean; met: boolean[] };

/** Reads all filters at one moment; null: the id is of no person of the segment's app. */
export async function matchPerson(
  db: Database,
  entityId: number,
  query: SegmentQuery,
  { customerType, customerId }: Person,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Match | null> {
  const { with: tables, sets, met, condition, ofUser, ofDevice, values, add } = segmentSql(query);
  const id = `${add(customerId)}::text`;
  const asked =
    customerType === 'user_id'
      ? ofUser(id)
      : `SELECT ${ofDevice.person} AS person FROM devices d ${ofDevice.joins}
         WHERE d.entity_id = $1 AND d.app_id = ${add(query.appId)}::integer AND d.device_id = ${id}`;
  const text = `WITH ${tables}, asked AS MATERIALIZED (${asked})
    SELECT p.person, ${condition} AS "isFound", ARRAY[${met.join(', ')}]::boolean[] AS met
    FROM people p JOIN asked ON asked.person = p.person ${sets}`;
  return read(db, async (tx) => (await tx.query<Match>(text, [entityId, ...values])).rows[0] ?? null, {
    settings: segmentSettings(timeoutMs),
    signal,
  });
}

/**
 * Returns whether the segment's last snapshot has the person, by the id or by a device's user; without one its members
 * are of earlier filters. Uses the key of segment_members.
 */
export async function hasMember(
  db: Queryable,
  entityId: number,
  { id, appId, snapshotAt }: { id: number; appId: number; snapshotAt: Date | null },
  person: Person,
): Promise<boolean> {
  if (snapshotAt === null) return false;
  const people = await listPeopleOf(db, entityId, appId, person.customerType, [person.customerId]);
  const { rowCount } = await db.query(
    'SELECT FROM segment_members WHERE entity_id = $1 AND segment_id = $2 AND person = ANY ($3::text[]) LIMIT 1',
    [entityId, id, [...people, subjectOf(person)]],
  );
  return rowCount === 1;
}
