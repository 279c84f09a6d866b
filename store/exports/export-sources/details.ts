import { OF_EVENTS, ofApps } from './of-apps.ts';
import { selectList } from './printed.ts';
import type { TableSource } from './table-source.ts';

/** One row an entry, in jsonb's order of keys; an empty key if it is no map. Nested values are JSON. */
const ENTRIES = `CROSS JOIN LATERAL jsonb_each_text(
  CASE jsonb_typeof(r.detail) WHEN 'object' THEN r.detail ELSE jsonb_build_object('', r.detail) END) AS entry`;

export const details: TableSource = {
  table: 'events',
  isPartitioned: true,
  condition: (scope) => `${ofApps(scope, OF_EVENTS)} AND r.detail IS NOT NULL`,
  joins: () => ENTRIES,
  countedJoins: () => ENTRIES,
  columns: ({ format }) =>
    selectList('details', { event_id: 'r.id::text', key: 'entry.key', value: 'entry.value' }, format),
};
