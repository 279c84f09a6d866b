/** Stored funnels. */

import type { FunnelStep } from '../../domain/analytics/funnel.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';

export type Funnel = Row<
  'funnels',
  'id' | 'identifier' | 'name' | 'description' | 'maxDuration' | 'createdAt' | 'updatedAt' | 'archivedAt',
  { steps: FunnelStep[] }
> & { labels: string[] };

// Labels use the index label_targets_by_target.
const FUNNELS = `SELECT f.*, ARRAY(
    SELECT l.name FROM label_targets t JOIN labels l ON l.entity_id = t.entity_id AND l.id = t.label_id
    WHERE t.entity_id = f.entity_id AND t.target_kind = 'funnel' AND t.target_id = f.id ORDER BY l.name) AS labels
  FROM funnels f`;

export const MAX_FUNNELS = 1_000;

type NewFunnel = Pick<Funnel, 'name' | 'description' | 'maxDuration' | 'steps'> & {
  appIds: number[];
  createdBy: number;
};

/** Inserts a funnel; null if the entity has MAX_FUNNELS. */
export async function insertFunnel(tx: Queryable, entityId: number, funnel: NewFunnel): Promise<Funnel | null> {
  // Serializes additions; other references to the entity don't wait.
  await tx.query('SELECT FROM entities WHERE id = $1 FOR NO KEY UPDATE', [entityId]);
  const { name, description, maxDuration, steps, appIds, createdBy } = funnel;
  return readRow<Funnel>(
    await tx.query(
      `INSERT INTO funnels (entity_id, identifier, name, description, max_duration, steps, app_ids, created_by)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM funnels WHERE entity_id = $1) < ${MAX_FUNNELS}
     RETURNING *, ARRAY[]::text[] AS labels`,
      [entityId, newIdentifier('fun'), name, description, maxDuration, JSON.stringify(steps), appIds, createdBy],
    ),
  );
}

export async function* streamFunnels(
  db: Queryable,
  entityId: number,
  appIds: number[] | null,
): AsyncGenerator<Funnel[]> {
  const { rows } = await db.query<Row<'funnels', 'id'>>(
    'SELECT id FROM funnels WHERE entity_id = $1 AND ($2::integer[] IS NULL OR app_ids && $2) ORDER BY id',
    [entityId, appIds],
  );
  for await (const ids of idPieces(
    db,
    entityId,
    'funnels',
    rows.map(({ id }) => id),
  )) {
    yield readRows<Funnel>(
      await db.query(`${FUNNELS} WHERE f.entity_id = $1 AND f.id = ANY ($2) ORDER BY f.id`, [entityId, ids]),
    );
  }
}

/** `isLocked`: locks the funnel until the transaction ends. */
export async function findFunnel(
  db: Queryable,
  entityId: number,
  identifier: string,
  { isLocked = false } = {},
): Promise<Funnel | null> {
  return readRow<Funnel>(
    await db.query(
      `${FUNNELS} WHERE f.entity_id = $1 AND f.identifier = $2 ${isLocked ? 'FOR NO KEY UPDATE OF f' : ''}`,
      [entityId, identifier],
    ),
  );
}

export async function updateFunnelArchived(
  tx: Queryable,
  entityId: number,
  id: number,
  isArchived: boolean,
): Promise<void> {
  await tx.query(
    `UPDATE funnels SET updated_at = now(), archived_at = CASE WHEN $3 THEN now() END
     WHERE entity_id = $1 AND id = $2 AND (archived_at IS NOT NULL) <> $3`,
    [entityId, id, isArchived],
  );
}

export async function touchFunnel(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('UPDATE funnels SET updated_at = now() WHERE entity_id = $1 AND id = $2', [entityId, id]);
}
