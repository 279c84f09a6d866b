/** Locations of personal data in analytics: members of segments, and values in filters and funnels. */
import { CHANGES_KEPT_DAYS } from '../../domain/analytics/segment-changes.ts';
import type { PersonalDataLocation } from '../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../gdpr/rows-of-people.ts';
import { filtersOfPeople } from './filters-of-people.ts';
import { wantRefresh } from './segments.ts';

const funnels = filtersOfPeople({
  name: 'funnels',
  column: 'steps',
  holds: 'details of events that stored steps compare with',
  erasedBy: 'removing the value',
  keptFor: 'as long as the funnel',
  otherColumns: `entity_id, id, identifier, name, description, max_duration, app_ids, created_by, created_at,
    updated_at, archived_at`,
});

/** The filters of segments. A change makes the segment, and all that name it, due for a refresh. */
export const segments = filtersOfPeople({
  name: 'segments',
  column: 'filters',
  holds: 'filters: values of attributes and details of events that they compare with',
  erasedBy: 'removing the value; the segment, and those that name it, are due for a refresh',
  keptFor: 'as long as the segment',
  otherColumns: `entity_id, id, identifier, app_id, name, description, created_by, created_at, updated_at,
    last_used_at, refresh_wanted_at, refresh_begun_at, generation, snapshot_at, failure, people_count, people_total,
    people_push, reach_count, reach_optin, reach_token, reach_total, revision`,
  async changed(tx, entityId, ids) {
    await tx.query(
      `UPDATE segments SET generation = generation + 1, revision = revision + 1, refresh_begun_at = NULL
       WHERE entity_id = $1 AND id = ANY ($2)`,
      [entityId, ids],
    );
    for (const id of ids) await wantRefresh(tx, entityId, id);
  },
});

const ofSegment = (column: string, name = column) =>
  `(SELECT s.${column} FROM segments s WHERE s.entity_id = r.entity_id AND s.id = r.segment_id) AS ${name}`;

/**
 * Finds people's rows in a table of segments, by its index by person. A device is a person in a segment if its app
 * knows no user of it, or several: then it is theirs if no other person uses it in that app, or if it asks for itself.
 */
const peopleOfSegments = (table: string, key: string) => `
  SELECT ${key} FROM ${table} WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS})
    UNION ALL SELECT ${key} FROM ${table} AS m
      WHERE entity_id = $1 AND person = ANY (${DEVICE_SUBJECTS}) AND (substr(person, 2) = ANY ($4) OR NOT EXISTS (
        SELECT FROM segments s JOIN device_users u ON u.entity_id = $1 AND u.app_id = s.app_id
        WHERE s.entity_id = $1 AND s.id = m.segment_id AND u.device_id = substr(m.person, 2) AND u.user_id <> ALL ($2::text[])))`;

const FOUND_BY =
  "user id; device id, if no one else uses the device in the segment's app, or if [the device " +
  'itself](gdpr.md#from-a-device) makes the request';

const segmentMembers = rowsOfPeople({
  name: 'segment_members',
  key: 'segment_id, person',
  columns: 'segment_id, person',
  otherColumns: 'entity_id',
  holds: 'the fact that a person is in a segment',
  foundBy: FOUND_BY,
  erasedBy: 'deleting the rows; a refresh leaves out erased people',
  keptFor: 'until a refresh finds that the person has left, or the segment is deleted',
  found: peopleOfSegments('segment_members', 'segment_id, person'),
  shown: `${ofSegment('app_id')}, ${ofSegment('identifier', 'segment')}, ${ofSegment('name')},
    ${ofSegment('description')}, substr(r.person, 2) AS customer_id`,
});

const segmentChanges = rowsOfPeople({
  name: 'segment_changes',
  key: 'segment_id, id',
  columns: 'changed_at, person, has_joined',
  otherColumns: 'entity_id, segment_id, id',
  holds: 'when a person joined or left a segment',
  foundBy: FOUND_BY,
  erasedBy: 'deleting the rows; the counts of a day stay',
  keptFor: `${CHANGES_KEPT_DAYS} days, or until the segment is deleted`,
  found: peopleOfSegments('segment_changes', 'segment_id, id'),
  shown: `${ofSegment('app_id')}, ${ofSegment('identifier', 'segment')}, ${ofSegment('name')}, changed_at,
    has_joined, substr(r.person, 2) AS customer_id`,
});

export const analyticsData: PersonalDataLocation[] = [funnels, segments, segmentMembers, segmentChanges];
