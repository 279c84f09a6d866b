import { filtersOfPeople } from '../analytics/filters-of-people.ts';

/** The filters of campaigns. Their messages say the same to all people: they are settings, as names are. */
export const campaigns = filtersOfPeople({
  name: 'campaigns',
  column: 'filters',
  holds: 'the filters of their audience, as those of segments',
  erasedBy: 'removing the value',
  keptFor: 'as long as the campaign',
  otherColumns: `entity_id, id, identifier, api_identifier, app_id, name, type, status, includes_push, includes_inapp,
    start_date, end_date, adapt_tz, skip_message_limit, is_sensitive, params, recurrence, notif_limit, variants,
    created_by, created_at, updated_at, launched_at, ended_at, failure, reach_count, reach_optin, reach_total,
    reach_at, test_of, revision, launched_by, expected_people, has_profile_values`,
});
