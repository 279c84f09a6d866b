import { write } from '../../core/database.ts';
import { countRows, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';

/** In which somebody may be: all that were begun, whatever they hold. */
const BEGUN = `file_jobs WHERE entity_id = $1 AND file_key IS NOT NULL`;

type BegunRow = { id: number; file_key: string };

/**
 * Files that were built from lists. Nothing tells who is in one but reading it, so an erasure takes all of an entity's: their jobs begin
 * again, by then without the person, under the same links. It comes after the tables that files are built from.
 */
export const files: PersonalDataLocation = {
  name: 'files/',
  columns: [],
  otherColumns: [],
  foundBy: 'every file of the entity: any may hold the person, so Millrace builds them anew',
  count: ({ db }, entityId) => countRows(db, BEGUN, [entityId]),
  // What it says of a person stands in the tables that it was built from.
  async* export() {},
  async erase({ db, files: stored, tally }, entityId) {
    const { rows } = await db.query<BegunRow>(`SELECT id, file_key FROM ${BEGUN} ORDER BY id`, [entityId]);
    for (const { id, file_key: key } of rows) {
      // The file goes before the row lets go of its key: whoever is killed between does both again, and counts it once.
      await write(db, async (tx) => {
        const { rowCount } = await tx.query(
          `UPDATE file_jobs SET file_key = NULL, file_bytes = NULL, rows_written = 0, generation = generation + 1, run_id = NULL,
             received_at = now(), state = CASE WHEN query IS NULL OR state = 'failed' THEN state ELSE 'accepted' END,
             ended_at = CASE WHEN state = 'finished' AND query IS NOT NULL THEN NULL ELSE ended_at END
           WHERE entity_id = $1 AND id = $2 AND file_key = $3`, [entityId, id, key]);
        if (rowCount === 1) await tally?.(tx, 1);
        await stored.delete(key);
      });
    }
    return rows.length;
  },
};
