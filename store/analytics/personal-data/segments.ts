import { wantRefresh } from '../segments.ts';
import { filtersLocation } from './filters-location.ts';

/** The filters of segments. Once they change, the segment and all that name it are due for a refresh. */
export const segments = filtersLocation({
  name: 'segments',
  column: 'filters',
  holds: 'filters: values of attributes and details of events that they compare with',
  erasedBy: 'removing the value; the segment, and those that name it, are due for a refresh',
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'app_id',
    'name',
    'description',
    'created_by',
    'created_at',
    'updated_at',
    'last_used_at',
    'refresh_wanted_at',
    'refresh_begun_at',
    'generation',
    'snapshot_at',
    'failure',
    'people_count',
    'people_total',
    'people_push',
    'reach_count',
    'reach_optin',
    'reach_token',
    'reach_total',
  ],
  async changed(tx, entityId, ids) {
    await tx.query(
      'UPDATE segments SET generation = generation + 1, refresh_begun_at = NULL WHERE entity_id = $1 AND id = ANY ($2)',
      [entityId, ids],
    );
    for (const id of ids) await wantRefresh(tx, entityId, id);
  },
});
