import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, OF_ANY_APP, rowsOfPeople, USER_SUBJECTS, WHOLE_SUBJECTS } from '../../gdpr/rows-of-people.ts';

const KEY = 'app_id, subject';

/** The head's session is that of another, who used the device last. */
const IS_ANOTHERS = `EXISTS (
  SELECT FROM sessions s WHERE s.entity_id = $1 AND s.app_id = h.app_id AND s.started_at = h.started_at AND s.id = h.session_id
    AND s.user_id IS NOT NULL AND s.user_id <> ALL ($2::text[]))`;

/**
 * Erased before the sessions, by which some are found: one left behind would lead calls to come into a session that is
 * gone.
 */
export const sessionHeads: PersonalDataLocation = {
  name: 'session_heads',
  columns: ['subject', 'started_at', 'ended_at', 'backgrounded_at'],
  otherColumns: ['entity_id', 'app_id', 'session_id'],
  holds: 'the latest session of a device or user',
  foundBy: "the device's or user's id; the session, if it is the person's",
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'session_heads',
    keys: { app_id: 'integer', subject: 'text' },
    found: `SELECT ${KEY} FROM session_heads WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${USER_SUBJECTS})
      UNION SELECT ${KEY} FROM session_heads AS h
        WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${DEVICE_SUBJECTS}) AND NOT ${IS_ANOTHERS}
      UNION SELECT ${KEY} FROM session_heads WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${WHOLE_SUBJECTS})
      UNION SELECT h.app_id, h.subject FROM sessions AS s
        JOIN session_heads AS h ON h.entity_id = $1 AND h.app_id = s.app_id AND h.subject = s.subject AND h.session_id = s.id
        WHERE s.entity_id = $1 AND s.user_id = ANY ($2)`,
    shown: 'r.app_id, substr(r.subject, 2) AS customer_id, r.session_id, r.started_at, r.ended_at',
  }),
};
