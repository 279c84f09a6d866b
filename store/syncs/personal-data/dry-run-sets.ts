import { rowsOfCustomers } from '../../gdpr/personal-data/rows-of-customers.ts';

export const dryRunSets = rowsOfCustomers({
  name: 'dry_run_sets',
  columns: ['customer_id', 'customer_type', 'set_elements', 'set_times'],
  otherColumns: ['entity_id', 'import_id', 'attribute_id'],
  shown: ['customer_id', 'set_elements', 'set_times'],
  holds: 'Sets as a running dry run has left them',
  erasedBy: 'deleting the rows; the sweep does so when the dry run has ended',
});
