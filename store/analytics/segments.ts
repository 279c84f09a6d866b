/** Segments: their filters, labels, locks and uses. */

import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { SegmentCounts } from './segment-counts.ts';

/** The counts are those of the snapshot, and mean nothing without one. */
export type Segment = Row<
  'segments',
  | 'id'
  | 'identifier'
  | 'appId'
  | 'name'
  | 'description'
  | 'createdAt'
  | 'updatedAt'
  | 'lastUsedAt'
  | 'generation'
  | 'revision'
  | 'snapshotAt'
  | 'failure',
  {
    /** Null for a static segment, a list of people. */
    filters: SegmentFilters | null;
  }
> &
  SegmentCounts & { appIdentifier: string; labels: string[] };

// Labels use the index label_targets_by_target.
const SEGMENTS = `SELECT s.id, s.identifier, s.app_id, a.identifier AS app_identifier, s.name, s.description, s.filters, s.created_at,
    s.updated_at, s.last_used_at, s.generation, s.revision, s.snapshot_at, s.failure, s.people_count, s.people_total, s.people_push, s.reach_count,
    s.reach_optin, s.reach_token, s.reach_total, ARRAY(
      SELECT l.name FROM label_targets t JOIN labels l ON l.entity_id = t.entity_id AND l.id = t.label_id
      WHERE t.entity_id = s.entity_id AND t.target_kind = 'segment' AND t.target_id = s.id ORDER BY l.name) AS labels
  FROM segments s JOIN apps a ON a.entity_id = s.entity_id AND a.id = s.app_id`;

export const MAX_SEGMENTS = 1_000;

/** Locks the entity's segments, and what filters of segments and campaigns name, until the transaction ends. */
export async function lockSegments(tx: Tx, entityId: number): Promise<void> {
  await tx.query('SELECT FROM entities WHERE id = $1 FOR NO KEY UPDATE', [entityId]);
}

type NewSegment = Pick<Segment, 'appId' | 'name' | 'description' | 'filters'> & { createdBy: number };

/** Inserts a segment; null if the entity has MAX_SEGMENTS. The caller has locked the entity's segments. */
export async function insertSegment(
  tx: Queryable,
  entityId: number,
  { appId, name, description, filters, createdBy }: NewSegment,
): Promise<Pick<Segment, 'id' | 'identifier'> | null> {
  return readRow<Pick<Segment, 'id' | 'identifier'>>(
    await tx.query(
      `INSERT INTO segments (entity_id, identifier, app_id, name, description, filters, created_by)
     SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM segments WHERE entity_id = $1) < ${MAX_SEGMENTS}
     RETURNING id, identifier`,
      [entityId, newIdentifier('seg'), appId, name, description, filters && JSON.stringify(filters), createdBy],
    ),
  );
}

export async function* streamSegments(
  db: Queryable,
  entityId: number,
  appId: number | null,
): AsyncGenerator<Segment[]> {
  const { rows } = await db.query<Row<'segments', 'id'>>(
    'SELECT id FROM segments WHERE entity_id = $1 AND ($2::integer IS NULL OR app_id = $2) ORDER BY id',
    [entityId, appId],
  );
  for await (const ids of idPieces(
    db,
    entityId,
    'segments',
    rows.map(({ id }) => id),
  )) {
    yield readRows<Segment>(
      await db.query(`${SEGMENTS} WHERE s.entity_id = $1 AND s.id = ANY ($2) ORDER BY s.id`, [entityId, ids]),
    );
  }
}

/** `key`: the identifier, or the id. `isLocked`: locks the segment until the transaction ends. */
export async function findSegment(
  db: Queryable,
  entityId: number,
  key: string | number,
  { isLocked = false } = {},
): Promise<Segment | null> {
  const isIt = typeof key === 'number' ? 's.id = $2' : 's.identifier = $2';
  return readRow<Segment>(
    await db.query(`${SEGMENTS} WHERE s.entity_id = $1 AND ${isIt} ${isLocked ? 'FOR NO KEY UPDATE OF s' : ''}`, [
      entityId,
      key,
    ]),
  );
}

export async function updateSegment(
  tx: Queryable,
  entityId: number,
  id: number,
  { name, description }: Pick<Segment, 'name' | 'description'>,
): Promise<void> {
  await tx.query(
    `UPDATE segments SET name = $3, description = $4, updated_at = now(), revision = revision + 1
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, name, description],
  );
}

/** Changes the filters. There is no snapshot until the next refresh, and the steps of a refresh under way end. */
export async function updateSegmentFilters(
  tx: Queryable,
  entityId: number,
  id: number,
  filters: SegmentFilters,
): Promise<void> {
  await tx.query(
    `UPDATE segments SET filters = $3, generation = generation + 1, snapshot_at = NULL, failure = NULL,
       refresh_begun_at = NULL, updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, JSON.stringify(filters)],
  );
}

export async function setUses(tx: Queryable, entityId: number, id: number, usedIds: readonly number[]): Promise<void> {
  await tx.query('DELETE FROM segment_uses WHERE entity_id = $1 AND segment_id = $2', [entityId, id]);
  await tx.query(
    `INSERT INTO segment_uses (entity_id, segment_id, used_segment_id) SELECT $1, $2, unnest($3::integer[])`,
    [entityId, id, usedIds],
  );
  await updateLastUsed(tx, entityId, usedIds);
}

export async function updateLastUsed(db: Queryable, entityId: number, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query('UPDATE segments SET last_used_at = now() WHERE entity_id = $1 AND id = ANY ($2)', [entityId, ids]);
}

/** Returns the names along a circle that these names would close, or null. Needs the lock of segments. */
export async function findCircle(
  tx: Queryable,
  entityId: number,
  id: number,
  usedIds: readonly number[],
): Promise<string[] | null> {
  const { rows: uses } = await tx.query<{ id: number; used: number }>(
    `WITH RECURSIVE reached AS (
       SELECT used AS id FROM unnest($2::integer[]) AS used
       UNION SELECT u.used_segment_id FROM reached r JOIN segment_uses u ON u.entity_id = $1 AND u.segment_id = r.id)
     SELECT u.segment_id AS id, u.used_segment_id AS used
     FROM reached r JOIN segment_uses u ON u.entity_id = $1 AND u.segment_id = r.id`,
    [entityId, usedIds],
  );
  const path = shortestPath(
    Map.groupBy(uses, (use) => use.id),
    usedIds,
    id,
  );
  if (path === null) return null;
  const { rows } = await tx.query<Row<'segments', 'id' | 'name'>>(
    'SELECT id, name FROM segments WHERE entity_id = $1 AND id = ANY ($2)',
    [entityId, path],
  );
  const names = new Map(rows.map((row) => [row.id, row.name]));
  return path.map((reached) => names.get(reached)!);
}

/** Visits each segment once: the number of paths grows without bound if segments name many of the same. */
function shortestPath(
  uses: ReadonlyMap<number, readonly { used: number }[]>,
  starts: readonly number[],
  end: number,
): number[] | null {
  const cameFrom = new Map<number, number | null>(starts.map((start) => [start, null]));
  for (const id of cameFrom.keys()) {
    if (id === end) {
      const path = [id];
      for (let before = cameFrom.get(id)!; before !== null; before = cameFrom.get(before)!) path.unshift(before);
      return path;
    }
    for (const { used } of uses.get(id) ?? []) if (!cameFrom.has(used)) cameFrom.set(used, id);
  }
  return null;
}

/** Deletes a segment that no other names. Bounded batches delete its members later (`deleteMembersOfDeleted`). */
export async function deleteSegment(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(`DELETE FROM label_targets WHERE entity_id = $1 AND target_kind = 'segment' AND target_id = $2`, [
    entityId,
    id,
  ]);
  await tx.query('DELETE FROM segments WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Makes a segment and all that name it due for a refresh; `isChanged`: without a snapshot until then. */
export async function wantRefresh(
  tx: Queryable,
  entityId: number,
  id: number,
  { isChanged = false } = {},
): Promise<void> {
  const forgotten = isChanged ? ', snapshot_at = NULL, generation = generation + 1, refresh_begun_at = NULL' : '';
  await tx.query(
    `WITH RECURSIVE changed AS (
       SELECT $2::integer AS id
       UNION
       SELECT u.segment_id FROM changed c JOIN segment_uses u ON u.entity_id = $1 AND u.used_segment_id = c.id)
     UPDATE segments s SET refresh_wanted_at = now()${forgotten}
     FROM changed c WHERE s.entity_id = $1 AND s.id = c.id`,
    [entityId, id],
  );
}
