/** Customer attributes: definitions of values. Each change raises the revision of their SoR. */
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import type { WidenedFrom } from '../../domain/attributes/widen-type.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { lockSorRules } from './sor-rules-lock.ts';

export type CustomerAttribute = Row<
  'customer_attributes',
  | 'id'
  | 'sorId'
  | 'identifier'
  | 'key'
  | 'label'
  | 'valueType'
  | 'disabled'
  | 'isIdentifier'
  | 'isSensitive'
  | 'isGuessed',
  {
    /** The guessed type before it became a String: older values are in that type's column. */
    widenedFrom: WidenedFrom | null;
  }
>;

const COLUMNS =
  'id, sor_id, identifier, key, label, value_type, disabled, is_identifier, is_sensitive, is_guessed, widened_from';

export async function insertCustomerAttribute(
  tx: Queryable,
  entityId: number,
  sorId: number,
  attribute: { key: string; label: string; valueType: ValueType; isIdentifier?: boolean; isSensitive?: boolean },
): Promise<CustomerAttribute | null> {
  const inserted = readRow<CustomerAttribute>(
    await tx.query(
      `INSERT INTO customer_attributes (entity_id, sor_id, identifier, key, label, value_type, is_identifier, is_sensitive)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (entity_id, sor_id, key) WHERE deleted_at IS NULL DO NOTHING
     RETURNING ${COLUMNS}`,
      [
        entityId,
        sorId,
        newIdentifier('atr'),
        attribute.key,
        attribute.label,
        attribute.valueType,
        attribute.isIdentifier ?? false,
        attribute.isSensitive ?? false,
      ],
    ),
  );
  if (inserted) await raiseSorRevision(tx, entityId, sorId);
  return inserted;
}

export async function findCustomerAttribute(
  db: Queryable,
  entityId: number,
  identifier: string,
): Promise<CustomerAttribute | null> {
  return readRow<CustomerAttribute>(
    await db.query(
      `SELECT ${COLUMNS} FROM customer_attributes WHERE entity_id = $1 AND identifier = $2 AND deleted_at IS NULL`,
      [entityId, identifier],
    ),
  );
}

export async function listCustomerAttributesOf(
  db: Queryable,
  entityId: number,
  sorIds: number[],
): Promise<CustomerAttribute[]> {
  return readRows<CustomerAttribute>(
    await db.query(
      `SELECT ${COLUMNS} FROM customer_attributes
     WHERE entity_id = $1 AND sor_id = ANY($2) AND deleted_at IS NULL ORDER BY id`,
      [entityId, sorIds],
    ),
  );
}

/**
 * Changes the given members, never the key. `valueType` ends a guess: the attribute's own type, or String of a scalar.
 */
export async function updateCustomerAttribute(
  tx: Queryable,
  entityId: number,
  id: number,
  change: {
    label?: string | undefined;
    disabled?: boolean | undefined;
    isIdentifier?: boolean | undefined;
    isSensitive?: boolean | undefined;
    valueType?: ValueType | undefined;
  },
): Promise<CustomerAttribute> {
  const updated = readRow<CustomerAttribute>(
    await tx.query(
      `UPDATE customer_attributes SET label = coalesce($3, label), disabled = coalesce($4, disabled),
       is_identifier = coalesce($5, is_identifier), is_sensitive = coalesce($6, is_sensitive),
       is_guessed = is_guessed AND $7::text IS NULL, value_type = coalesce($7, value_type),
       widened_from = CASE WHEN $7 IS DISTINCT FROM value_type AND $7 IS NOT NULL THEN value_type ELSE widened_from END
     WHERE entity_id = $1 AND id = $2 RETURNING ${COLUMNS}`,
      [
        entityId,
        id,
        change.label ?? null,
        change.disabled ?? null,
        change.isIdentifier ?? null,
        change.isSensitive ?? null,
        change.valueType ?? null,
      ],
    ),
  )!;
  await raiseSorRevision(tx, entityId, updated.sorId);
  return updated;
}

/** Deletes an attribute: nothing finds it any more, and `deleteRemains` deletes its values in batches. */
export async function deleteCustomerAttribute(tx: Queryable, entityId: number, id: number): Promise<void> {
  const rows = readRows<Row<'customer_attributes', 'sorId'>>(
    await tx.query(
      'UPDATE customer_attributes SET deleted_at = now() WHERE entity_id = $1 AND id = $2 RETURNING sor_id',
      [entityId, id],
    ),
  );
  await raiseSorRevision(tx, entityId, rows[0]!.sorId);
}

/** Raises the SoR's revision: rows checked against the old attributes are checked again before they merge. */
export async function raiseSorRevision(tx: Queryable, entityId: number, sorId: number): Promise<void> {
  await lockSorRules(tx, sorId);
  await tx.query(
    'UPDATE systems_of_records SET revision = revision + 1, updated_at = now() WHERE entity_id = $1 AND id = $2',
    [entityId, sorId],
  );
}
