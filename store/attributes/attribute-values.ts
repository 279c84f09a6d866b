/** Attribute values as the database stores them. */
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export const CUSTOMER_TYPE_CODE: Record<CustomerType, number> = { user_id: 0, device_id: 1 };

/** A scalar is the database's text (a decimal, YYYY-MM-DD, a string); a datetime is a Date. */
export type StoredValue = {
  key: string;
  valueType: ValueType;
  value: string | boolean | Date | null;
  elements: { value: string; since: Date }[] | null;
  since: Date;
};

type ValueRow = Row<'customer_attributes', 'key' | 'valueType'> &
  Row<
    'attribute_values',
    | 'changedAt'
    | 'stringValue'
    | 'numberValue'
    | 'booleanValue'
    | 'dateValue'
    | 'datetimeValue'
    | 'setElements'
    | 'setTimes'
  >;

/** Returns a value's text. A String may have been another type before: older values are in that type's column. */
function textOfRow(row: ValueRow): string | null {
  const {
    stringValue: string,
    numberValue: number,
    booleanValue: boolean,
    dateValue: date,
    datetimeValue: datetime,
  } = row;
  return string ?? number ?? boolean?.toString() ?? date ?? datetime?.toISOString() ?? null;
}

export async function findAttributeValues(
  db: Queryable,
  entityId: number,
  sorId: number,
  customerType: CustomerType,
  customerId: string,
): Promise<StoredValue[]> {
  // Reads one range of attribute_values' primary key.
  const rows = readRows<ValueRow>(
    await db.query(
      `SELECT a.key, a.value_type, v.changed_at, v.string_value, v.number_value, v.boolean_value, v.date_value,
            v.datetime_value, v.set_elements, v.set_times
     FROM attribute_values v
     JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id AND a.deleted_at IS NULL
     WHERE v.entity_id = $1 AND v.sor_id = $2 AND v.customer_id = $3 AND v.customer_type = $4 AND v.removed_at IS NULL
     ORDER BY a.key`,
      [entityId, sorId, customerId, CUSTOMER_TYPE_CODE[customerType]],
    ),
  );
  return rows.map((row) => ({
    key: row.key,
    valueType: row.valueType,
    value:
      row.valueType === 'String'
        ? textOfRow(row)
        : (row.stringValue ?? row.numberValue ?? row.booleanValue ?? row.dateValue ?? row.datetimeValue),
    elements: row.setElements?.map((value, index) => ({ value, since: row.setTimes![index]! })) ?? null,
    since: row.changedAt,
  }));
}
