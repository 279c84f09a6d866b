import { write } from '../../core/database.ts';
import { changeRows } from '../../core/in-batches.ts';
import { idsOf } from '../../gdpr/people-keys.ts';
import { countRows, type KnownBy, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn, namesOf } from '../../gdpr/personal-data/named-in.ts';

/** NULL where it has what jsonb refuses, such as NUL: no id that is searched for has that. */
export const QUERY = String.raw`CASE WHEN query::text !~ '\\u' THEN query::jsonb END`;
const among = (path: string, ids: string) => `coalesce(${QUERY} #> '${path}' ?| ${ids}::text[], false)`;

/** $4 and $5 the ids of users and devices, which a query names by their types. */
const NAMING = `file_jobs WHERE entity_id = $1 AND query IS NOT NULL AND (${namedIn('query::text')}
  OR ${among('{filter,oneOf,user_id}', '$4')} OR ${among('{filter,oneOf,current_user_id}', '$4')}
  OR ${among('{filter,oneOf,device_id}', '$5')}
  OR ${QUERY} ->> 'customerType' = 'device_id' AND ${among('{customerIds}', '$5')})`;

function keysOf(entityId: number, people: readonly KnownBy[]): unknown[] {
  const [, users, devices] = idsOf(entityId, people);
  return [...namesOf(entityId, people), users, devices];
}

/** What files were asked for: filters may name customers. Few: they go after a week. */
export const fileJobs: PersonalDataLocation = {
  name: 'file_jobs',
  columns: ['query'],
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'kind',
    'format',
    'asked_hash',
    'email',
    'created_by',
    'state',
    'generation',
    'run_id',
    'received_at',
    'started_at',
    'ended_at',
    'rows_written',
    'file_key',
    'file_bytes',
    'failure_status',
    'failure',
    'mail_state',
    'mail_tries',
    'mail_reason',
    'begun_at',
    'first_ended_at',
    'follows',
    'counted_in',
    'stage',
  ],
  holds: 'what a file was requested with: filters, or the search for a user or device',
  foundBy: 'the type and id that it searches for; the id within it',
  erasedBy: 'emptying it; the job ends without a file',
  count: ({ db }, entityId, people) => countRows(db, NAMING, keysOf(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT identifier AS file, kind, received_at, query FROM ${NAMING} ORDER BY id`,
      keysOf(entityId, people),
    );
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) =>
    write(db, (tx) =>
      changeRows(
        tx,
        `UPDATE file_jobs SET query = NULL, state = 'failed', generation = generation + 1, ended_at = coalesce(ended_at, now()),
       first_ended_at = coalesce(first_ended_at, now()),
       failure_status = 'erased', failure = 'It was about a person who was erased'
     WHERE entity_id = $1 AND id IN (SELECT id FROM ${NAMING})`,
        keysOf(entityId, people),
        tally,
      ),
    ),
};
