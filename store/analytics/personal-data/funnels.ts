import { filtersLocation } from './filters-location.ts';

/** Details of events that the steps of stored funnels compare with. */
export const funnels = filtersLocation({
  name: 'funnels',
  column: 'steps',
  holds: 'details of events that stored steps compare with',
  erasedBy: 'removing the value',
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'name',
    'description',
    'max_duration',
    'app_ids',
    'created_by',
    'created_at',
    'updated_at',
    'archived_at',
  ],
});
