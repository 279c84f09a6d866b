import { refuse } from '../../domain/core/refusal.ts';
import { type App, findApp } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';

/** Returns an app of the caller's entity, or refuses with the 404 of every route below `/api/apps/<app_id>`. */
export async function requireApp(
  db: Queryable,
  entityId: number,
  identifier: string,
  message = 'App not found',
): Promise<App> {
  return (await findApp(db, entityId, identifier)) ?? refuse(404, 'not_found', message);
}

/** Returns the app that a field of a query names. */
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
