import { write } from '../../core/database.ts';
import { inBatches } from '../../core/in-batches.ts';
import { idsOf } from '../people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../personal-data-location.ts';
import { KEPT_FOR } from '../request-record.ts';

/** $1 the entity, $2 user ids, $3 device ids: by gdpr_people_by_user and gdpr_people_by_device. */
export const IN_REQUESTS = `gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
  WHERE p.entity_id = $1 AND (p.user_id = ANY ($2::text[]) OR p.user_id IS NULL AND p.device_id = ANY ($3::text[]))`;

/** A request for deletion stays as it was asked for until its week is over: it is how one knows that it was done. */
const SHOWN_TO_THEM = `${IN_REQUESTS} AND r.request_type = 'access'`;

/** Their device, from which somebody else asked. */
const ASKED_FROM = `gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
  WHERE p.entity_id = $1 AND p.user_id <> ALL ($2::text[]) AND p.device_id = ANY ($3::text[]) AND r.request_type = 'access'`;

export const gdprRequestPeople: PersonalDataLocation = {
  name: 'gdpr_request_people',
  // Its rows name the archives.
  after: ['access/'],
  columns: [
    'user_id',
    'device_id',
    'subject',
    'state',
    'treated_at',
    'round',
    'archive_key',
    'archive_bytes',
    'archive_sha256',
    'archive_others',
    'message',
    'shown',
  ],
  otherColumns: ['entity_id', 'request_id', 'ordinal'],
  holds: "the fact that somebody requested a person's data or its deletion",
  foundBy: 'user id; device id',
  erasedBy:
    'deleting the rows of access requests, and emptying the device from which another user requested ' +
    'access; the worker first gives up an archive that it is writing. A deletion request keeps its rows for its ' +
    'week; if one waits for approval and names no other user id, it is done',
  async count({ db }, entityId, people) {
    const ids = idsOf(entityId, people);
    return (await countRows(db, SHOWN_TO_THEM, ids)) + (await countRows(db, ASKED_FROM, ids));
  },
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, r.request_type, r.source, r.received_at, p.ordinal, p.user_id, p.device_id, p.state, p.treated_at, p.round,
         p.message FROM ${IN_REQUESTS} ORDER BY r.id, p.ordinal`,
      idsOf(entityId, people),
    );
    yield* rows;
  },
  /**
   * An archive that is being written for them is given up, which its writer sees within a second; the row goes when
   * somebody erases again, and is a survivor until then.
   */
  async erase({ db, tally }, entityId, people) {
    const keys = idsOf(entityId, people);
    const deleted = await inBatches(
      db,
      `DELETE FROM gdpr_request_people WHERE ctid = ANY (ARRAY(
         SELECT p.ctid FROM ${SHOWN_TO_THEM} AND p.state <> 'building' LIMIT ${BATCH}))`,
      keys,
      tally,
    );
    await inBatches(
      db,
      `UPDATE gdpr_request_people SET state = 'treated', treated_at = now(), archive_key = NULL WHERE ctid = ANY (ARRAY(
         SELECT p.ctid FROM ${SHOWN_TO_THEM} AND p.state = 'building' LIMIT ${BATCH}))`,
      keys,
    );
    await write(db, (tx) => tx.query(END_WAITING, keys));
    return (
      deleted +
      (await inBatches(
        db,
        `UPDATE gdpr_request_people SET device_id = NULL WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM ${ASKED_FROM} LIMIT ${BATCH}))`,
        keys,
        tally,
      ))
    );
  },
};

/**
 * What waits for approval, and asks for the deletion of nobody but whom another request erases, is done. The requests
 * are held first: one that somebody approves at this moment is worked off, as all others are.
 */
const END_WAITING = `WITH waiting AS MATERIALIZED (
    SELECT id FROM gdpr_requests WHERE entity_id = $1 AND request_type = 'delete' AND state = 'waiting' AND id IN (
      SELECT r.id FROM ${IN_REQUESTS} AND r.request_type = 'delete' AND r.state = 'waiting') ORDER BY id FOR NO KEY UPDATE),
  theirs AS (
    UPDATE gdpr_request_people SET state = 'treated', treated_at = now() WHERE ctid = ANY (ARRAY(
      SELECT p.ctid FROM ${IN_REQUESTS} AND r.id IN (SELECT id FROM waiting) AND p.state <> 'treated'))
    RETURNING request_id, ordinal)
  UPDATE gdpr_requests q SET state = 'treated', treated_at = now(), expires_at = now() + ${KEPT_FOR}, updated_at = now()
  WHERE q.entity_id = $1 AND q.state = 'waiting' AND q.id IN (SELECT request_id FROM theirs)
    AND NOT EXISTS (SELECT FROM gdpr_request_people o WHERE o.entity_id = $1 AND o.request_id = q.id AND o.state <> 'treated'
      AND (o.request_id, o.ordinal) NOT IN (SELECT request_id, ordinal FROM theirs))`;
