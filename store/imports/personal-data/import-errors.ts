import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { hashOfNamed, namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

/** By customer_id; where nobody could read that out of the record, by the id's standing in it, or in what is told of it. */
export const importErrors: PersonalDataLocation = {
  name: 'import_errors',
  after: ['feed_requests'],
  columns: ['customer_id', 'attribute_key', 'message', 'raw', 'customer_hash'],
  otherColumns: ['entity_id', 'import_id', 'line', 'error_type', 'outcome', 'happened_at', 'stage', 'redriven_by', 'original_line'],
  holds: 'id, key, message and the original row or record, from imports, feeds and syncs',
  foundBy: 'the id; if an error has none, the id within record and message',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  ...textsOfPeople({
    table: 'import_errors',
    keys: { import_id: 'bigint', line: 'bigint' },
    text: `coalesce(customer_id, concat_ws(E'\\n', raw, message))`,
    naming: `customer_id = ANY ($4) OR customer_id IS NULL AND (${namedIn('raw')} OR ${namedIn('message')})`,
    own: { condition: 'customer_id = ANY ($4)', shown: 'line, error_type, happened_at, message, customer_id, attribute_key, raw' },
    within: `coalesce(
      (SELECT i.identifier FROM imports i WHERE i.entity_id = $1 AND i.id = import_id),
      (SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = import_id))`,
    // The rows stay, since the import's counts rest on them; what they tell of the person goes.
    change: `UPDATE import_errors SET customer_id = NULL, raw = NULL, attribute_key = NULL, message = '${ERASED}',
      customer_hash = ${hashOfNamed(['raw', 'message'], 'customer_id')}`,
  }),
};
