/** The last calls of an app (`GET /api/apps/<id>/live`). */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { subjectsOf } from './refused-calls.ts';
import { OF_NO_APP } from './call-counts.ts';

export type LiveCall = Row<
  'live_calls',
  'appId' | 'receivedAt' | 'code' | 'message' | 'messageId',
  {
    /**
     * `failed`: a trait of an accepted call, shown as its value. `widened`: an attribute's key, which is a String now.
     */
    outcome: 'accepted' | 'duplicate' | 'refused' | 'failed' | 'widened';
    /** The call as it came, shortened. */
    call: string;
  }
>;

export type StoredLiveCall = LiveCall & Row<'live_calls', 'id'>;

/** Maximum number of calls kept for an app. */
export const MAX_LIVE_CALLS = 100;

/** Inserts the last calls of an entity's apps, except those that name an erased person, and deletes older ones. */
export async function insertLiveCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: readonly (LiveCall & { people: Person[] })[],
): Promise<void> {
  const erased = await findErased(tx, secrets, entityId, () => calls.flatMap(({ people }) => people));
  const texts = calls.map(({ call, message, messageId }) => [call, message ?? '', messageId ?? ''].join('\n'));
  const named = await findErasedTexts(tx, secrets, entityId, texts, { byWords: true });
  const living = calls.filter(
    ({ people }, index) => !named.has(index) && !people.some((person) => erased.has(personKey(person))),
  );
  await tx.query(
    `INSERT INTO live_calls (entity_id, app_id, received_at, outcome, code, message, message_id, call, subjects)
     SELECT $1, app_id, received_at, outcome, code, message, message_id, call, ARRAY(SELECT json_array_elements_text(subjects::json))
     FROM unnest($2::integer[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
       AS given (app_id, received_at, outcome, code, message, message_id, call, subjects)`,
    [
      entityId,
      living.map(({ appId }) => appId),
      living.map(({ receivedAt }) => receivedAt),
      living.map(({ outcome }) => outcome),
      living.map(({ code }) => code),
      living.map(({ message }) => message),
      living.map(({ messageId }) => messageId),
      living.map(({ call }) => call),
      living.map(({ people }) => subjectsOf(people)),
    ],
  );
  for (const appId of new Set(living.map((call) => call.appId))) await deleteOlder(tx, entityId, appId);
}

/** Uses the index live_calls_of_app. */
async function deleteOlder(tx: Tx, entityId: number, appId: number | null): Promise<void> {
  const ofApp = `entity_id = $1 AND ${appId === null ? 'app_id IS NULL' : 'app_id = $2'}`;
  await tx.query(
    `DELETE FROM live_calls WHERE ${ofApp} AND id <= (
       SELECT id FROM live_calls WHERE ${ofApp} ORDER BY id DESC OFFSET ${MAX_LIVE_CALLS} LIMIT 1)`,
    appId === null ? [entityId] : [entityId, appId],
  );
}

/** Lists the calls of an app with ids after `after`, newest first, and those without an app if it shares its key. */
export async function listLiveCalls(
  db: Queryable,
  entityId: number,
  appId: number,
  after: number,
): Promise<StoredLiveCall[]> {
  return readRows(
    await db.query(
      `SELECT id, app_id, received_at, outcome, code, message, message_id, call FROM live_calls
     WHERE entity_id = $1 AND (app_id = $2 OR ${OF_NO_APP}) AND id > $3 ORDER BY id DESC LIMIT ${MAX_LIVE_CALLS}`,
      [entityId, appId, after],
    ),
  );
}
