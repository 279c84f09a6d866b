import type { Queryable } from './database.ts';

export type AppType = 'iOS App' | 'Android App' | 'Web App';
export type App = { id: number; identifier: string; name: string; packageName: string; appType: AppType };

type AppRow = { id: number; identifier: string; name: string; package_name: string; app_type: AppType };

export async function findApp(db: Queryable, entityId: number, identifier: string): Promise<App | null> {
  const { rows } = await db.query<AppRow>(
    'SELECT id, identifier, name, package_name, app_type FROM apps WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]);
  return rows[0] ? toApp(rows[0]) : null;
}

function toApp(row: AppRow): App {
  return { id: row.id, identifier: row.identifier, name: row.name, packageName: row.package_name, appType: row.app_type };
}
