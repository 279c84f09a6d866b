import type { PersonalDataLocation } from '../personal-data-location.ts';
import { keyedHashes } from './keyed-hashes.ts';

export const tombstoneBatches: PersonalDataLocation = {
  name: 'tombstone_batches',
  columns: ['hashes'],
  otherColumns: ['entity_id', 'key', 'kind', 'made_at', 'search_pending'],
  holds: 'tombstones as files in `tombstones/`, from which Millrace restores them',
  foundBy: 'a keyed hash',
  erasedBy: 'never; it holds no id',
  ...keyedHashes(
    'SELECT made_at, kind FROM tombstone_batches WHERE entity_id = $1 AND hashes && $2::bytea[] ORDER BY made_at',
  ),
};
