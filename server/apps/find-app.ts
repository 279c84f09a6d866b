import { refuse } from '../../domain/core/refusal.ts';
import { type App, findApp } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';

export async function requireApp(
  db: Queryable,
  entityId: number,
  identifier: string,
  message = 'App not found',
): Promise<App> {
  return (await findApp(db, entityId, identifier)) ?? refuse(404, 'not_found', message);
}

export async function requireAppOf(
  db: Queryable,
  entityId: number,
  element: 'app' | 'apps',
  identifier: string,
): Promise<App> {
  const message = 'App not found';
  return (
    (await findApp(db, entityId, identifier)) ??
    refuse(404, 'not_found', message, {
      messages: [{ element, severity: 'error', message: 'is no app of your entity: GET /api/apps lists them' }],
    })
  );
}
