import { OF_EVENTS, ofApps } from './of-apps.ts';
import { selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

/** Joins each error's kind by key, and the versions of its session by sessions_by_subject. */
const JOINS = `
  LEFT JOIN LATERAL (
    SELECT c.identifier FROM crashes c WHERE c.entity_id = r.entity_id AND c.id = r.crash_id OFFSET 0) kind ON true
  LEFT JOIN LATERAL (
    SELECT s.app_version, s.os_version FROM sessions s
    WHERE s.entity_id = r.entity_id AND s.subject = coalesce('d' || r.device_id, 'u' || r.user_id) AND s.app_id = r.app_id
      AND s.started_at BETWEEN r.happened_at - interval '25 hours' AND r.happened_at AND s.id = r.session_id LIMIT 1) session ON true`;

export const crashes: TableSource = {
  table: 'events',
  isPartitioned: true,
  condition: (scope) => `${ofApps(scope, OF_EVENTS)} AND r.log_type = 1`,
  joins: () => JOINS,
  countedJoins: noJoins,
  columns: ({ format }) =>
    selectList(
      'crashes',
      {
        crash_id: 'kind.identifier',
        date: 'r.happened_at',
        device_id: 'r.device_id',
        session_id: 'r.session_id::text',
        user_id: 'r.user_id',
        app_version: 'session.app_version',
        os_version: 'session.os_version',
      },
      format,
    ),
};
