/** Locations of personal data in file exports: the files, which are searched for ids, and their queries. */
import type { Piece } from '../../domain/csv/csv-pieces.ts';
import { parseRun } from '../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../domain/csv/csv-splitter.ts';
import { createNameFinder } from '../../domain/text/name-finder.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import { type Tx, write } from '../core/database.ts';
import { deleteNotedFiles, noteFileDeletions } from '../core/file-deletions.ts';
import type { Files } from '../core/files.ts';
import { idsOf, isVouchedFor } from '../gdpr/people-keys.ts';
import { type FileKind, fileSources } from './file-sources.ts';
import { changeRows } from '../core/in-batches.ts';
import { filesOfPeople } from '../gdpr/files-of-people.ts';
import { namedIn, namesOf } from '../gdpr/named-in.ts';
import {
  countRows,
  type KnownBy,
  type LocationDependencies,
  type PersonalDataLocation,
  withColumns,
} from '../gdpr/personal-data-location.ts';

/** NULL if the query contains what jsonb refuses, such as NUL: no id contains that. */
const QUERY = String.raw`CASE WHEN query::text !~ '\\u' THEN query::jsonb END`;
const among = (path: string, ids: string) => `coalesce(${QUERY} #> '${path}' ?| ${ids}::text[], false)`;

/** $4 and $5 are the ids of users and devices, which a query names by their types. */
const NAMING = `file_jobs WHERE entity_id = $1 AND query IS NOT NULL AND (${namedIn('query::text')}
  OR ${among('{filter,oneOf,user_id}', '$4')} OR ${among('{filter,oneOf,current_user_id}', '$4')}
  OR ${among('{filter,oneOf,device_id}', '$5')}
  OR ${QUERY} ->> 'customerType' = 'device_id' AND ${among('{customerIds}', '$5')})`;

function keysOf(entityId: number, people: readonly KnownBy[]): unknown[] {
  const [, users, devices] = idsOf(entityId, people);
  return [...namesOf(entityId, people), users, devices];
}

/** Queries of files, whose filters may name customers. They are few, since they expire after a week. */
const fileJobs: PersonalDataLocation = {
  ...withColumns({
    name: 'file_jobs',
    columns: 'query',
    otherColumns: `entity_id, id, identifier, kind, format, asked_hash, email, created_by, state, generation, workflow_run_id,
      received_at, started_at, ended_at, rows_written, file_key, file_bytes, failure_status, failure, mail_state,
      mail_tries, mail_reason, begun_at, first_ended_at, follows, counted_in, stage`,
    holds: 'what a file was requested with: filters, or the search for a user or device',
    foundBy: 'the type and id that it searches for; the id within it',
    erasedBy: 'emptying it; the job ends without a file',
    keptFor: 'a week after the file was built, or failed',
  }),
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

type BegunFile = Row<'file_jobs', 'id' | 'identifier' | 'kind', { fileKey: string }> & {
  isSearchable: boolean;
  isAnybodys: boolean;
};

/** Files whose rows concern people without naming them: values of events alone, and lists that lack some ids. */
const NAMES_NOBODY = `(kind = 'event_details' OR NOT coalesce(${QUERY} -> 'fields' ?& CASE
  WHEN kind IN ('events', 'sessions', 'locations') THEN ARRAY['user_id', 'device_id']
  WHEN kind IN ('devices', 'segment_devices') THEN ARRAY['current_user_id', 'users', 'last_user_id'] END, true))`;

/**
 * Files of lists. A finished CSV file is searched; another may contain any person of its table. Their jobs begin again
 * under the same links, so this location comes after the tables. An erasure skips files begun once these were empty of
 * its people: they contain later lists, and other people's events that mention an erased id.
 */
export const files = filesOfPeople({
  name: 'files/',
  isBuiltFromTables: true,
  holds: 'files of [file exports](files.md)',
  foundBy:
    'finished CSV files in which the id stands, if their rows name people; ids that are not vouched for stand in ' +
    'a column of their type. Every other file of the entity, if a table that files are built from had the person. ' +
    'Files that were begun after these tables were erased are left alone',
  erasedBy: 'deleting the file; Millrace builds it anew',
  keptFor: 'a week after the file was built',
  list: listFilesOf,
  shown: ({ identifier, isSearchable }) => (isSearchable ? { within: identifier } : null),
  async erase(deps, entityId, people) {
    const found = await Array.fromAsync(listFilesOf(deps, entityId, people));
    for (const file of found) {
      // Another job of the same request may begin meanwhile; the next try finds it.
      await write(deps.db, (tx) => resetFile(tx, deps, entityId, file), { collide: true });
      await deleteNotedFiles(deps, entityId, file.fileKey);
    }
    return found.length;
  },
});

export const filesData: PersonalDataLocation[] = [fileJobs, files];

/** Notes a file for deletion; its job begins again or follows another, unless it failed or names an erased id. */
async function resetFile(
  tx: Tx,
  { erasure, tally }: LocationDependencies,
  entityId: number,
  { id, fileKey }: BegunFile,
): Promise<void> {
  const reset = readRow<Row<'file_jobs', 'follows'> & { isCounted: boolean }>(
    await tx.query(
      `WITH found AS (
       SELECT id, counted_in IS NOT DISTINCT FROM $4::text AND $4 IS NOT NULL AS is_counted,
         query IS NOT NULL AND state <> 'failed' AS begins_again, (
         SELECT o.id FROM file_jobs o WHERE o.entity_id = $1 AND o.asked_hash = j.asked_hash AND o.id <> j.id
           AND o.state IN ('accepted', 'running')) AS other
       FROM file_jobs j WHERE entity_id = $1 AND id = $2 AND file_key = $3 FOR NO KEY UPDATE)
     UPDATE file_jobs j SET file_key = NULL, file_bytes = NULL, begun_at = NULL, rows_written = 0, generation = generation + 1,
       workflow_run_id = NULL, received_at = now(), counted_in = $4,
       state = CASE WHEN NOT begins_again THEN state WHEN other IS NULL THEN 'accepted' ELSE 'finished' END,
       ended_at = CASE WHEN begins_again AND other IS NULL THEN NULL ELSE ended_at END,
       follows = CASE WHEN begins_again THEN other END
     FROM found WHERE j.entity_id = $1 AND j.id = found.id
     RETURNING follows, is_counted`,
      [entityId, id, fileKey, erasure?.round ?? null],
    ),
  );
  if (!reset) return;
  if (reset.follows !== null) {
    await tx.query('UPDATE file_jobs SET follows = $3 WHERE entity_id = $1 AND follows = $2', [
      entityId,
      id,
      reset.follows,
    ]);
  }
  await noteFileDeletions(tx, entityId, [fileKey]);
  if (!reset.isCounted) await tally?.(tx, 1);
}

async function* listFilesOf(
  { db, files: stored, erasure }: Pick<LocationDependencies, 'db' | 'files' | 'erasure'>,
  entityId: number,
  people: KnownBy[],
): AsyncGenerator<BegunFile> {
  const begun = readRows<BegunFile>(
    await db.query(
      `SELECT id, identifier, kind, file_key, state = 'finished' AND format = 'csv' AND NOT ${NAMES_NOBODY} AS is_searchable,
       query IS NULL OR $3 AS is_anybodys
     FROM file_jobs WHERE entity_id = $1 AND file_key IS NOT NULL AND (begun_at <= $2) IS NOT FALSE ORDER BY id`,
      [entityId, erasure?.filesBefore ?? null, erasure?.wasInTables ?? true],
    ),
  );
  if (begun.length === 0) return;
  const [vouched, others] = [people.filter(isVouchedFor), people.filter((known) => !isVouchedFor(known))];
  const [ofVouched, ofOthers] = [searchFor(vouched), searchFor(others)];
  const typed = new Set(others.map(({ customerType, customerId }) => `${customerType} ${customerId}`));
  for (const file of begun) {
    const holds = async () =>
      (await holdsName(stored, file.fileKey, ofVouched)) ||
      ((await holdsName(stored, file.fileKey, ofOthers)) && (await holdsTyped(stored, file, typed)));
    if (file.isSearchable ? await holds() : file.isAnybodys) yield file;
  }
}

/** `overlap`: maximum bytes of a name with its quotes doubled. */
type Search = { find: (text: string) => Set<number>; overlap: number };

/** Returns a search for these people's ids, which a file writes unchanged except for quotes; null without ids. */
function searchFor(people: readonly KnownBy[]): Search | null {
  const ids = [...new Set(people.map(({ customerId }) => customerId))];
  if (ids.length === 0) return null;
  const parts = ids.map((id) =>
    id
      .split('"')
      .filter((part) => part !== '')
      .map((part) => Buffer.from(part).toString('latin1')),
  );
  return { find: createNameFinder(parts), overlap: 2 * Math.max(...ids.map((id) => Buffer.byteLength(id))) };
}

/** Columns of files that contain an id, with its type; `users` is a JSON list. */
const ID_COLUMNS = new Map([
  ['user_id', 'user_id'],
  ['current_user_id', 'user_id'],
  ['last_user_id', 'user_id'],
  ['users', 'user_id'],
  ['device_id', 'device_id'],
]);

async function holdsTyped(stored: Files, { fileKey, kind }: BegunFile, typed: ReadonlySet<string>): Promise<boolean> {
  const delimiter = fileSources[kind as FileKind].delimiter ?? ',';
  const splitter = createCsvSplitter({ delimiter });
  const bytes = stored.read(fileKey);
  let columns: string[] | undefined;
  const isNaming = (fields: readonly string[]): boolean => {
    if (columns === undefined) {
      columns = [...fields];
      return false;
    }
    const customerType = fields[columns.indexOf('customer_id_type')];
    return fields.some((field, at) => {
      const column = columns![at]!;
      const type = column === 'customer_id' ? customerType : ID_COLUMNS.get(column);
      return (
        type !== undefined && (column === 'users' ? usersIn(field) : [field]).some((id) => typed.has(`${type} ${id}`))
      );
    });
  };
  const isAnyNaming = (pieces: Iterable<Piece>): boolean => {
    for (const piece of pieces) {
      if (
        piece.kind === 'run' &&
        parseRun(piece, delimiter).some((record) => Array.isArray(record) && isNaming(record))
      )
        return true;
    }
    return false;
  };
  try {
    for await (const chunk of bytes) if (isAnyNaming(splitter.push(chunk as Buffer))) return true;
    return isAnyNaming(splitter.end());
  } finally {
    bytes.destroy();
  }
}

function usersIn(cell: string): string[] {
  try {
    return (JSON.parse(cell) as { user_id: string }[]).map(({ user_id: id }) => id);
  } catch {
    return [];
  }
}

async function holdsName(stored: Files, key: string, search: Search | null): Promise<boolean> {
  if (search === null || (await stored.size(key)) === null) return false;
  const { find, overlap } = search;
  const bytes = stored.read(key);
  try {
    let before = '';
    for await (const piece of bytes) {
      const text = before + (piece as Buffer).toString('latin1');
      if (find(text).size > 0) return true;
      before = text.slice(-overlap);
    }
    return false;
  } finally {
    bytes.destroy();
  }
}
