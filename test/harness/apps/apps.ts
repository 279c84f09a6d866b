import type { AppType } from '../../../domain/apps/app.ts';
import type { App } from '../../../store/apps/apps.ts';
import type { Queryable } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';

/** An app as other parts' tests need one: without its SDK SoR. */
export async function insertSampleApp(
  db: Queryable,
  entityId: number,
  packageName: string,
  appType: AppType = 'iOS App',
): Promise<App> {
  const identifier = newIdentifier('app');
  const { rows } = await db.query<{ id: number }>(
    'INSERT INTO apps (entity_id, identifier, name, package_name, app_type) VALUES ($1, $2, $3, $3, $4) RETURNING id',
    [entityId, identifier, packageName, appType],
  );
  return { id: rows[0]!.id, identifier, name: packageName, packageName, appType };
}
