import * as api from '../../api/exports/data-exporters.ts';
import { exportPolicy, trustPolicy } from '../../domain/exports/export-policy.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import { lockExporter, updateActive } from '../../store/exports/data-exporters.ts';
import { cancelExportRunsOf } from '../../store/exports/export-runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { followExporterSoon } from '../jobs/start-soon.ts';
import { checkBucket } from './exporter-check.ts';
import { knownExporter, showExporter } from './exporter-record.ts';
import { refuseChangedMeanwhile, storedExporter } from './stored-exporter.ts';

const activateExporter = route(api.activateDataExporter, async ({ params: { exporter_id }, ...who }, deps) => {
  const { secrets, ...tried } = await storedExporter(deps.db, deps, who.caller.entityId, exporter_id);
  await checkBucket(who, deps, exporter_id, { ...tried, secrets });
  return changeActive(exporter_id, who, deps, true, tried.revision);
});

const deactivateExporter = route(api.deactivateDataExporter, async ({ params: { exporter_id }, ...who }, deps) => {
  return changeActive(exporter_id, who, deps, false, null);
});

const checkExporter = route(api.checkDataExporter, async ({ params: { exporter_id }, keepReply, ...who }, deps) => {
  await checkBucket(who, deps, exporter_id, await storedExporter(deps.db, deps, who.caller.entityId, exporter_id));
  return write(deps.db, (tx) => keepReply(tx, { ok: true as const }));
});

const viewPolicy = route(
  api.viewDataExporterPolicy,
  async ({ params: { exporter_id }, caller: { entityId } }, { db }) => {
    const { bucketName: bucket, subfolder, region, roleName } = await knownExporter(db, entityId, exporter_id);
    const externalId = await findExternalId(db, entityId);
    return {
      policy: exportPolicy({ bucket, subfolder, region }),
      trust_policy: roleName === null ? null : trustPolicy({ externalId }),
      external_id: externalId,
      role_name: roleName,
    };
  },
);

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller };

/** `tried` is the revision with which the bucket was tried. */
async function changeActive(
  exporterId: string,
  { log, ...who }: Who,
  deps: RouteDependencies,
  active: boolean,
  tried: number | null,
) {
  const { entityId } = who.caller;
  const after = await write(deps.db, async (tx) => {
    const before = await knownExporter(tx, entityId, exporterId, lockExporter);
    if (tried !== null) refuseChangedMeanwhile(before, tried);
    await updateActive(tx, entityId, before.id, active);
    if (!active) await cancelExportRunsOf(tx, entityId, before.id, 'scheduled');
    const details = { change: active ? 'activated' : 'deactivated' };
    await audit(tx, who, { action: 'update', subjectKind: 'data_exporter', subject: exporterId, details });
    return knownExporter(tx, entityId, exporterId);
  });
  await followExporterSoon(deps, log, after);
  return showExporter(deps.db, after);
}

export const dataExporterActionRoutes: Route[] = [activateExporter, deactivateExporter, checkExporter, viewPolicy];
