import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { hashOfNamed, namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

/** The type of customer_id: files hold users alone, a sync says it once, and a feed's value itself. */
const TYPE = `CASE
  WHEN EXISTS (SELECT FROM imports i WHERE i.entity_id = $1 AND i.id = import_id) THEN 'user_id'
  WHEN raw ~ '"customer_id_type": ?"device_id"' THEN 'device_id'
  ELSE coalesce((SELECT s.mapping -> 'customer' ->> 'type' FROM sync_runs r JOIN syncs s ON s.entity_id = $1 AND s.id = r.sync_id
    WHERE r.entity_id = $1 AND r.id = import_id), 'user_id') END`;
const isOwnOf = (named: string) => `${named}.id = customer_id AND ${named}.type = ${TYPE}`;
const IS_OWN = `EXISTS (SELECT FROM unnest($4::text[], $5::text[]) AS own (id, type) WHERE ${isOwnOf('own')})`;

/** By customer_id and its type; of a record in which it could not be read, by an id within record or message. */
export const importErrors: PersonalDataLocation = {
  name: 'import_errors',
  after: ['feed_requests'],
  columns: ['customer_id', 'attribute_key', 'message', 'raw', 'customer_hash'],
  otherColumns: [
    'entity_id',
    'import_id',
    'line',
    'error_type',
    'outcome',
    'happened_at',
    'stage',
    'redriven_by',
    'original_line',
    'column_number',
    'original_column',
    'is_erased',
  ],
  holds: 'id, key, message and the original row or record, from imports, feeds and syncs',
  foundBy: 'the id and its type; if an error has none, the id within record and message',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  ...textsOfPeople({
    table: 'import_errors',
    writtenAt: 'happened_at',
    keys: { import_id: 'bigint', line: 'bigint', column_number: 'integer' },
    text: `coalesce(customer_id, concat_ws(E'\\n', raw, message))`,
    isOfSors: true,
    subjects: `CASE WHEN customer_id IS NOT NULL THEN ARRAY['u' || customer_id, 'd' || customer_id] END`,
    naming: `${IS_OWN} OR customer_id IS NULL AND (${namedIn('raw')} OR ${namedIn('message')})`,
    own: { condition: IS_OWN, shown: 'line, error_type, happened_at, message, customer_id, attribute_key, raw' },
    within: `coalesce(
      (SELECT i.identifier FROM imports i WHERE i.entity_id = $1 AND i.id = import_id),
      (SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = import_id))`,
    // The rows stay, since the import's counts rest on them; what they tell of the person goes.
    change: `UPDATE import_errors SET customer_id = NULL, raw = NULL, attribute_key = NULL, message = '${ERASED}', is_erased = true,
      customer_hash = ${hashOfNamed(['raw', 'message'], isOwnOf('named'))}`,
  }),
};
