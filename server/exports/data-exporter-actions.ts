/** The routes that activate, pause and check exporters, and show the policy of their bucket. */
import * as api from '../../api/exports/data-exporters.ts';
import { exportPolicy, trustPolicy } from '../../domain/exports/export-policy.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import { updateActive } from '../../store/exports/data-exporters.ts';
import { cancelExportRunsOf } from '../../store/exports/export-runs.ts';
import { type Route, route } from '../http/route.ts';
import { changeOwner } from '../jobs/runs.ts';
import { checkBucket } from './exporter-check.ts';
import { exportRuns } from './export-run-record.ts';
import { knownExporter } from './exporter-record.ts';
import { refuseChangedMeanwhile, storedExporter } from './stored-exporter.ts';

const activateExporter = route(api.activateDataExporter, async ({ params: { exporter_id }, ...who }, deps) => {
  const tried = await storedExporter(deps.db, deps, who.caller.entityId, exporter_id);
  await checkBucket(who, deps, exporter_id, tried);
  return changeOwner(exportRuns, deps, who, exporter_id, 'activated', async (tx, exporter) => {
    refuseChangedMeanwhile(exporter, tried.revision);
    await updateActive(tx, exporter.entityId, exporter.id, true);
  });
});

const deactivateExporter = route(api.deactivateDataExporter, ({ params: { exporter_id }, ...who }, deps) =>
  changeOwner(exportRuns, deps, who, exporter_id, 'deactivated', async (tx, { entityId, id }) => {
    await updateActive(tx, entityId, id, false);
    await cancelExportRunsOf(tx, entityId, id, 'scheduled');
  }),
);

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

export const dataExporterActionRoutes: Route[] = [activateExporter, deactivateExporter, checkExporter, viewPolicy];
