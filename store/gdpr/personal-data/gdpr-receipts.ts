import type { PersonalDataLocation } from '../personal-data-location.ts';
import { keyedHashes } from './keyed-hashes.ts';

export const gdprReceipts: PersonalDataLocation = {
  name: 'gdpr_receipts',
  columns: ['subjects'],
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'request_identifier',
    'request_type',
    'round',
    'issued_at',
    'document',
  ],
  holds: 'a signed record of the data shown or erased',
  foundBy: 'a keyed hash',
  erasedBy: 'never; it holds no id',
  ...keyedHashes(
    `SELECT identifier AS receipt, request_identifier AS request, request_type, round, issued_at FROM gdpr_receipts
     WHERE entity_id = $1 AND subjects && $2::bytea[] ORDER BY id`,
  ),
};
