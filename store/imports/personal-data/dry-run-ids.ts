import { rowsOfCustomers } from '../../gdpr/personal-data/rows-of-customers.ts';

export const dryRunIds = rowsOfCustomers({
  name: 'dry_run_ids',
  columns: ['customer_id', 'customer_type', 'line'],
  otherColumns: ['entity_id', 'import_id'],
  shown: ['customer_id', 'line'],
  holds: 'the ids of the rows of a running dry run, with their first lines',
  erasedBy: 'deleting the rows; the sweep does so when the dry run has ended',
});
