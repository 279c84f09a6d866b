import pg from 'pg';
import { AHEAD_MS } from '../core/odd-cursors.ts';
import type { PostgresSession } from './postgres-session.ts';
import type { PostgresColumn } from './postgres-stream.ts';

export type OddCursors = {
  /** Whether the value of a row is odd, in SQL that an index over the column answers. */
  condition: string;
  /** Whether nothing new would come behind a value, given as Postgres writes it. */
  isStuckAt(value: string): Promise<boolean>;
};

/** Since this version numerics have infinities; all have NaN, the greatest of them. */
const WITH_INFINITIES = 140_000;

/** Values of a column that never move a cursor; null for a type that has none. */
export async function oddCursorsOf(
  { client }: PostgresSession,
  { name, kind }: PostgresColumn,
): Promise<OddCursors | null> {
  const column = pg.escapeIdentifier(name);
  if (kind.time !== undefined) {
    const latest = `now() + make_interval(secs => ${AHEAD_MS / 1_000})`;
    const limit = kind.time === 'instant' ? latest : `(${latest})::date`;
    const type = kind.time === 'instant' ? 'timestamptz' : 'date';
    return {
      condition: `(${column} > ${limit} OR ${column} = '-infinity')`,
      async isStuckAt(value) {
        const { rows } = await client.query<{ stuck: string }>(`SELECT ($1::${type} > ${limit})::text AS stuck`, [
          value,
        ]);
        return rows[0]!.stuck === 'true';
      },
    };
  }
  if (kind.type !== 'number') return null;
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
  const hasInfinities = Number(rows[0]!.version) >= WITH_INFINITIES;
  return {
    condition: hasInfinities ? `(${column} >= 'Infinity' OR ${column} = '-Infinity')` : `${column} = 'NaN'`,
    isStuckAt: async (value) => value === 'NaN' || value === 'Infinity',
  };
}
