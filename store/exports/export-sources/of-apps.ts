import { type ExportScope, inWindow, literal, literalList } from './export-scope.ts';

export function ofApps(
  { entityId, apps, window }: ExportScope,
  times: Record<ExportScope['window']['kind'], string>,
): string {
  return `r.entity_id = ${literal(entityId)} AND r.app_id = ${literalList(apps.map(({ id }) => id))}
    AND ${inWindow(times[window.kind], window)}`;
}

export const OF_EVENTS = { received: 'r.received_at', happened: 'r.happened_at' };
export const OF_SESSIONS = { received: 'r.received_at', happened: 'r.started_at' };
