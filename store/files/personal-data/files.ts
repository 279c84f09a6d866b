import { createNameFinder } from '../../../domain/core/name-finder.ts';
import { readRows } from '../../core/camel-row.ts';
import { write } from '../../core/database.ts';
import type { Files } from '../../core/files.ts';
import type { KnownBy, LocationDependencies, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { TextMatches } from '../../gdpr/personal-data/text-matches.ts';

type BegunFile = { id: number; identifier: string; fileKey: string; isSearchable: boolean };

/**
 * Files that were built from lists, or are being built. A CSV file is searched; one of another format, or that is not finished, may
 * hold anybody. Their jobs begin again, by then without the person, under the same links: so this comes after the tables that files are
 * built from.
 */
export const files: PersonalDataLocation = {
  name: 'files/',
  columns: [],
  otherColumns: [],
  foundBy: 'finished CSV files in which the id stands; every other file of the entity. Millrace builds them anew',
  count: async (deps, entityId, people) => (await listFilesOf(deps, entityId, people)).length,
  async* export(deps, entityId, people) {
    const matches = new TextMatches();
    for (const { identifier, isSearchable } of await listFilesOf(deps, entityId, people)) if (isSearchable) matches.add(identifier);
    yield* matches.records();
  },
  async erase(deps, entityId, people) {
    const found = await listFilesOf(deps, entityId, people);
    for (const { id, fileKey } of found) {
      // The file goes before the row lets go of its key: whoever is killed between does both again, and counts it once.
      await write(deps.db, async (tx) => {
        const { rowCount } = await tx.query(
          `UPDATE file_jobs SET file_key = NULL, file_bytes = NULL, rows_written = 0, generation = generation + 1, run_id = NULL,
             received_at = now(), state = CASE WHEN query IS NULL OR state = 'failed' THEN state ELSE 'accepted' END,
             ended_at = CASE WHEN query IS NULL OR state = 'failed' THEN ended_at END
           WHERE entity_id = $1 AND id = $2 AND file_key = $3`, [entityId, id, fileKey]);
        if (rowCount === 1) await deps.tally?.(tx, 1);
        await deps.files.delete(fileKey);
      });
    }
    return found.length;
  },
};

async function listFilesOf(
  { db, files: stored }: Pick<LocationDependencies, 'db' | 'files'>, entityId: number, people: KnownBy[],
): Promise<BegunFile[]> {
  const begun = readRows<BegunFile>(await db.query(
    `SELECT id, identifier, file_key, state = 'finished' AND format = 'csv' AS is_searchable FROM file_jobs
     WHERE entity_id = $1 AND file_key IS NOT NULL ORDER BY id`, [entityId]));
  if (begun.length === 0) return [];
  const ids = [...new Set(people.map(({ customerId }) => customerId))];
  // In a file nothing but the quotes of an id is written in other ways than the id.
  const parts = ids.map((id) => id.split('"').filter((part) => part !== '').map((part) => Buffer.from(part).toString('latin1')));
  const find = createNameFinder(parts);
  const overlap = 2 * Math.max(0, ...ids.map((id) => Buffer.byteLength(id)));
  const found: BegunFile[] = [];
  for (const file of begun) if (!file.isSearchable || await holdsName(stored, file.fileKey, find, overlap)) found.push(file);
  return found;
}

/** Whether a name stands in a file, searched piece by piece as Latin-1; no name has more than `overlap` bytes, with its quotes doubled. */
async function holdsName(stored: Files, key: string, find: (text: string) => Set<number>, overlap: number): Promise<boolean> {
  if (await stored.size(key) === null) return false;
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
