import type { DetailPairs } from '../../../domain/analytics/funnel.ts';
import { insertFunnel } from '../../../store/analytics/funnels.ts';
import type { Queryable } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import type { World } from '../core/world.ts';

/** Filters that find who has one of these values of `plan`. */
export const attributesFilter = (sor: string, values: readonly string[]) => ({
  operator: 'and',
  blocks: [
    {
      operator: 'and',
      filters: [{ filter_on: 'attributes', sor_identifier: sor, attribute_key: 'plan', operator: 'is', values }],
    },
  ],
});

export type SampleSegment = {
  appId: number;
  name?: string;
  description?: string | null;
  filters?: object | null;
  /** As `u` and a user's id, or `d` and a device's. */
  people?: readonly string[];
};

/** A segment with its members, as a refresh has left it. */
export async function insertSampleSegment(
  db: Queryable,
  entityId: number,
  { appId, name = 'Segment', description = null, filters = null, people = [] }: SampleSegment,
): Promise<{ id: number; identifier: string }> {
  const identifier = newIdentifier('seg');
  const {
    rows: [segment],
  } = await db.query<{ id: number }>(
    `INSERT INTO segments (entity_id, identifier, app_id, name, description, filters, refresh_wanted_at, snapshot_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + interval '1 hour', now()) RETURNING id`,
    [entityId, identifier, appId, name, description, filters === null ? null : JSON.stringify(filters)],
  );
  await db.query('INSERT INTO segment_members SELECT $1, $2, unnest($3::text[])', [entityId, segment!.id, people]);
  await db.query(
    `INSERT INTO segment_changes (entity_id, segment_id, changed_at, person, has_joined)
     SELECT $1, $2, now(), unnest($3::text[]), true`,
    [entityId, segment!.id, people],
  );
  return { id: segment!.id, identifier };
}

/** A stored funnel of one step that compares with these details. */
export async function insertSampleFunnel(
  db: Queryable,
  { entity, user }: Pick<World, 'entity' | 'user'>,
  app: { id: number; identifier: string },
  details: DetailPairs[],
): Promise<{ id: number; identifier: string }> {
  return (await insertFunnel(db, entity.id, {
    name: 'Funnel',
    description: null,
    maxDuration: 60,
    createdBy: user.id,
    appIds: [app.id],
    steps: [{ match_name: [{ app_id: app.identifier, log_type: 2, log_name: 'Ordered' }], match_details: details }],
  }))!;
}
