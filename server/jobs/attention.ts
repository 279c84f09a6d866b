/** The route that lists what needs attention. */
import {
  type AttentionCursor,
  type AttentionItem,
  listAttention,
  writeAttentionCursor,
} from '../../api/jobs/attention.ts';
import { ATTENTION, type AttentionNeed } from '../../store/jobs/attention.ts';
import { type FoundAttention, listAttentionOf } from '../../store/jobs/list-attention.ts';
import type { Caller } from '../http/caller.ts';
import { type Route, route } from '../http/route.ts';

const list = route(listAttention, async ({ query: { kind, per_page: limit, cursor }, caller }, { db, settings }) => {
  const sources = ATTENTION.filter(
    (source) => (kind === undefined || source.kind === kind) && source.needs.every((need) => has(caller, need)),
  );
  const found = await listAttentionOf(db, caller.entityId, sources, { after: cursor ?? null, limit: limit + 1 });
  const shown = found.slice(0, limit);
  const next =
    found.length > limit
      ? nextPage(`${settings.publicUrl}${listAttention.path}`, { kind, limit, after: shown.at(-1)! })
      : null;
  return { attention: shown.map(show), next };
});

function has({ rights, admin, superadmin }: Caller, need: AttentionNeed): boolean {
  if (need === 'superadmin') return superadmin;
  return need === 'admin' ? admin || superadmin : rights.has(need);
}

function nextPage(
  path: string,
  { kind, limit, after }: { kind: string | undefined; limit: number; after: FoundAttention },
): string {
  const cursor: AttentionCursor = { micros: after.micros, kind: after.place, id: after.id ?? '', run: after.run ?? '' };
  const query = {
    ...(kind === undefined ? {} : { kind }),
    per_page: String(limit),
    cursor: writeAttentionCursor(cursor),
  };
  return `${path}?${new URLSearchParams(query)}`;
}

function show({ kind, object, id, name, run, since, reason, toDo }: FoundAttention): AttentionItem {
  return { kind, object: { type: object, id, name, run }, since: since.toISOString(), reason, what_to_do: toDo };
}

export const attentionRoutes: Route[] = [list];
