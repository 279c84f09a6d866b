import type { PersonalDataLocation } from '../personal-data-location.ts';
import { keyedHashes } from './keyed-hashes.ts';

export const tombstones: PersonalDataLocation = {
  name: 'tombstones',
  columns: ['customer_hash'],
  otherColumns: ['entity_id', 'raised_at'],
  holds: 'the fact that a person was erased',
  foundBy: 'a keyed hash',
  erasedBy: 'never; it holds no id',
  ...keyedHashes('SELECT raised_at FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[])'),
};
