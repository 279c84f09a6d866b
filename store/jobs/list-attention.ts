/** Lists entries that need attention from all sources, newest first. */
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { AttentionSource } from './attention.ts';

export type FoundAttention = Pick<AttentionSource, 'kind' | 'object' | 'toDo'> & {
  id: string | null;
  name: string | null;
  run: string | null;
  since: Date;
  reason: string;
  /** The entry's position, with `id` and `run`: `since` in microseconds, kind and object. */
  micros: number;
  place: string;
};

type Place = { micros: number; kind: string; id: string; run: string };

/** Lists entries of some sources, newest first, from a position on; at most `limit` rows of each source. */
export async function listAttentionOf(
  db: Queryable,
  entityId: number,
  sources: readonly AttentionSource[],
  { after, limit }: { after: Place | null; limit: number },
): Promise<FoundAttention[]> {
  if (sources.length === 0) return [];
  const order = `since DESC, place COLLATE "C" DESC, coalesce(id, '') COLLATE "C" DESC, coalesce(run, '') COLLATE "C" DESC`;
  const parts = sources.map(
    ({ kind, object, select }, ordinal) => `(
    SELECT * FROM (SELECT ${ordinal} AS source, '${kind} ${object}' AS place, id::text, name::text, run::text, since, reason
      FROM (${select}) s) s
    WHERE ($2::bigint IS NULL OR (since, place COLLATE "C", coalesce(id, '') COLLATE "C", coalesce(run, '') COLLATE "C")
      < ('epoch'::timestamptz + $2 * interval '1 microsecond', $3::text, $4::text, $5::text))
    ORDER BY ${order} LIMIT $6)`,
  );
  const rows = readRows<Omit<FoundAttention, 'kind' | 'object' | 'toDo'> & { source: number }>(
    await db.query(
      `SELECT *, (extract(epoch FROM since) * 1000000)::bigint AS micros FROM (${parts.join(' UNION ALL ')}) all_of_them
     ORDER BY ${order} LIMIT $6`,
      [entityId, after?.micros ?? null, after?.kind ?? '', after?.id ?? '', after?.run ?? '', limit],
    ),
  );
  return rows.map(({ source, ...row }) => {
    const { kind, object, toDo } = sources[source]!;
    return { ...row, kind, object, toDo };
  });
}
