import { filtersLocation } from './filters-location.ts';

/** The filters of segments, which are due for a refresh once they changed. */
export const segments = filtersLocation({
  name: 'segments',
  otherColumns: ['entity_id', 'id', 'identifier', 'app_id', 'name', 'description', 'created_by', 'created_at', 'updated_at', 'last_used_at',
    'refresh_wanted_at', 'refresh_begun_at',
    'generation', 'snapshot_at', 'failure', 'people_count', 'people_total', 'people_push', 'reach_count',
    'reach_optin', 'reach_token', 'reach_total'],
  assigns: 'generation = generation + 1, refresh_begun_at = NULL, refresh_wanted_at = now()',
});
