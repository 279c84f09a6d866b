import type { SegmentFilters } from '../../../domain/analytics/segment-filters.ts';
import { insertSegment, setUses } from '../../../store/analytics/segments.ts';
import { type Database, write } from '../../../store/core/database.ts';
import type { World } from '../core/world.ts';

/** A segment whose refresh is due. */
export function insertSampleSegment(
  db: Database,
  { entity, user }: World,
  appId: number,
  { name, filters, uses = [] }: { name: string; filters: SegmentFilters | null; uses?: number[] },
): Promise<{ id: number; identifier: string }> {
  return write(db, async (tx) => {
    const made = (await insertSegment(tx, entity.id, { appId, name, description: null, filters, createdBy: user.id }))!;
    await setUses(tx, entity.id, made.id, uses);
    return made;
  });
}

/**
 * Users of an app, each on a device of their own, whose country is that of their number; every second can be reached by
 * a push.
 */
export async function insertSampleUsers(
  db: Database,
  entityId: number,
  appId: number,
  users: readonly string[],
): Promise<void> {
  await db.query(
    `WITH given AS (SELECT id, ordinal FROM unnest($3::text[]) WITH ORDINALITY AS given (id, ordinal)),
     seen AS (
       INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $2, 'device of ' || id, id, now() FROM given)
     INSERT INTO devices (entity_id, app_id, device_id, last_user_id, country, opt_in, push_token, first_seen_at, last_seen_at)
     SELECT $1, $2, 'device of ' || id, id, CASE ordinal % 3 WHEN 0 THEN 'FR' ELSE 'DE' END, ordinal % 2 = 0, 'token', now(), now()
     FROM given`,
    [entityId, appId, users],
  );
}

export const fromCountry = (country: string): SegmentFilters => ({
  operator: 'and',
  blocks: [
    {
      operator: 'and',
      filters: [{ filter_on: 'devices', field: 'country_code', operator: 'is', values: [country] }],
    },
  ],
});

export const inSegments = (...identifiers: string[]): SegmentFilters => ({
  operator: 'and',
  blocks: [
    {
      operator: 'and',
      filters: [{ filter_on: 'segments', selection: 'any_of', segment_identifiers: identifiers, operator: 'is_in' }],
    },
  ],
});

/** In the order of their keys. */
export async function listMembers(db: Database, entityId: number, id: number): Promise<string[]> {
  const { rows } = await db.query<{ person: string }>(
    'SELECT person FROM segment_members WHERE entity_id = $1 AND segment_id = $2 ORDER BY person',
    [entityId, id],
  );
  return rows.map(({ person }) => person);
}
