/** Labels of event definitions, funnels and segments. */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';

export type Label = Row<'labels', 'id' | 'name' | 'createdAt'> & {
  targets: number;
};

type LabelTarget = { kind: 'event_definition' | 'funnel' | 'segment'; id: number };

// Counts use the primary key of label_targets, which begins with the label.
const LABELS = `SELECT l.id, l.name, l.created_at,
    (SELECT count(*) FROM label_targets t WHERE t.entity_id = l.entity_id AND t.label_id = l.id) AS targets
  FROM labels l`;

export async function* streamLabels(db: Queryable, entityId: number): AsyncGenerator<Label[]> {
  const { rows } = await db.query<Row<'labels', 'id'>>('SELECT id FROM labels WHERE entity_id = $1 ORDER BY id', [
    entityId,
  ]);
  for await (const ids of idPieces(
    db,
    entityId,
    'labels',
    rows.map(({ id }) => id),
  )) {
    yield readRows<Label>(
      await db.query(`${LABELS} WHERE l.entity_id = $1 AND l.id = ANY ($2) ORDER BY l.id`, [entityId, ids]),
    );
  }
}

export async function insertLabel(tx: Queryable, entityId: number, name: string): Promise<Label | null> {
  return readRow<Label>(
    await tx.query(
      `INSERT INTO labels (entity_id, name) VALUES ($1, $2) ON CONFLICT (entity_id, name) DO NOTHING
     RETURNING id, name, created_at, 0 AS targets`,
      [entityId, name],
    ),
  );
}

export async function lockLabel(tx: Queryable, entityId: number, name: string): Promise<Label | null> {
  return readRow<Label>(
    await tx.query(`${LABELS} WHERE l.entity_id = $1 AND l.name = $2 FOR UPDATE OF l`, [entityId, name]),
  );
}

/** Renames a label; false if the entity has another one of that name. */
export async function renameLabel(tx: Queryable, entityId: number, id: number, name: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE labels SET name = $3 WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM labels o WHERE o.entity_id = $1 AND o.name = $3 AND o.id <> $2)`,
    [entityId, id, name],
  );
  return rowCount === 1;
}

/** Deletes a label, not its objects; false if there is none of that name. */
export async function deleteLabel(tx: Queryable, entityId: number, name: string): Promise<boolean> {
  const { rowCount } = await tx.query('DELETE FROM labels WHERE entity_id = $1 AND name = $2', [entityId, name]);
  return rowCount === 1;
}

export async function setLabels(
  tx: Queryable,
  entityId: number,
  { kind, id }: LabelTarget,
  names: readonly string[],
): Promise<void> {
  // The update changes nothing: it returns the ids of existing labels, and keeps them from being deleted.
  const { rows } = await tx.query<Row<'labels', 'id'>>(
    `INSERT INTO labels (entity_id, name) SELECT DISTINCT $1::integer, name FROM unnest($2::text[]) AS name ORDER BY name
     ON CONFLICT (entity_id, name) DO UPDATE SET name = EXCLUDED.name RETURNING id`,
    [entityId, names],
  );
  const labels = rows.map((row) => row.id);
  await tx.query(
    `DELETE FROM label_targets WHERE entity_id = $1 AND target_kind = $2 AND target_id = $3 AND label_id <> ALL ($4::integer[])`,
    [entityId, kind, id, labels],
  );
  await tx.query(
    `INSERT INTO label_targets (entity_id, label_id, target_kind, target_id)
     SELECT $1, label_id, $2, $3 FROM unnest($4::integer[]) AS label_id ON CONFLICT DO NOTHING`,
    [entityId, kind, id, labels],
  );
}
