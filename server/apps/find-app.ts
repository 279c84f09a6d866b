import { refuse } from '../../domain/core/refusal.ts';
import { type App, findApp } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';

/** An app of the caller's entity, or the 404 of every route below `/api/apps/<app_id>`. */
export async function requireApp(db: Queryable, entityId: number, identifier: string, message = 'App not found'): Promise<App> {
  return await findApp(db, entityId, identifier) ?? refuse(404, 'not_found', message);
}
