import * as api from '../../api/syncs/syncs.ts';
import type { GivenMapping } from '../../domain/syncs/mapping-errors.ts';
import type { MappedField } from '../../domain/syncs/record-mapping.ts';

/** A mapping as it was given. */
export function givenMapping({
  customer = null,
  fields = [],
  other_fields,
  empty,
}: NonNullable<api.SyncChange['mapping']>): GivenMapping {
  return {
    customer: customer && { field: customer.field, type: customer.type ?? 'user_id' },
    fields: fields.map(api.givenField),
    otherFields: other_fields ?? (fields.length === 0 ? 'keep' : 'drop'),
    empty: empty ?? 'fail',
  };
}

/** The entry as a caller says it. */
export function showField(field: MappedField): Record<string, unknown> {
  if ('convert' in field && field.convert) {
    const { convert, ...entry } = field;
    return { ...entry, ...convert };
  }
  return field;
}
