import { z } from 'zod';
import { exportPolicy, SERVER_IDENTITY, trustPolicy } from '../../domain/exports/export-policy.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import { lockExporter, updateActive } from '../../store/exports/data-exporters.ts';
import { cancelExportRunsOf } from '../../store/exports/export-runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { identifier } from '../http/input.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { checkBucket } from './exporter-check.ts';
import { followExporterSoon } from './exporter-flows.ts';
import { ExporterRecord, knownExporter, showExporter } from './exporter-record.ts';
import { refuseChangedMeanwhile, storedExporter } from './stored-exporter.ts';

/** What is done with a data exporter besides changing it. */
const SHARED = {
  tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'], params: z.object({ exporter_id: identifier }),
} as const;
const PATH = '/api/data_exporters/:exporter_id';

const activateExporter = route({
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/activate`,
  summary: 'Activate a data exporter: it exports daily',
  description: 'The bucket is tried first: where it refuses (4xx) or cannot be reached (5xx), the exporter stays as it is. '
    + 'Where failures had paused it, it goes on.',
  result: ExporterRecord,
  async handle({ params: { exporter_id }, ...who }, deps) {
    const { secrets, ...tried } = await storedExporter(deps.db, deps, who.caller.entityId, exporter_id);
    await checkBucket(who, deps, exporter_id, { ...tried, secrets });
    return changeActive(exporter_id, who, deps, true, tried.revision);
  },
});

const deactivateExporter = route({
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/deactivate`,
  summary: 'Deactivate a data exporter: its daily exports stop',
  description: 'A run under way goes on, and can be canceled; those of the schedule that wait are canceled. By hand it can be run all '
    + 'the same.',
  result: ExporterRecord,
  async handle({ params: { exporter_id }, ...who }, deps) {
    return changeActive(exporter_id, who, deps, false, null);
  },
});

const checkExporter = route({
  ...SHARED,
  method: 'POST',
  path: `${PATH}/check`,
  summary: 'Check the bucket of a data exporter: write, read and delete a file in it',
  description: 'A failure has the provider\'s own words: 4xx where something must change first, 5xx where the bucket cannot '
    + 'be reached.',
  result: z.object({ ok: z.literal(true) }),
  async handle({ params: { exporter_id }, keepReply, ...who }, deps) {
    await checkBucket(who, deps, exporter_id, await storedExporter(deps.db, deps, who.caller.entityId, exporter_id));
    return write(deps.db, (tx) => keepReply(tx, { ok: true as const }));
  },
});

const viewPolicy = route({
  ...SHARED,
  method: 'GET',
  path: `${PATH}/policy`,
  summary: 'Show the AWS policies that a data exporter needs',
  result: z.object({
    policy: z.record(z.string(), z.unknown()).describe('The least rights of the access key or the role, as JSON of IAM'),
    trust_policy: z.record(z.string(), z.unknown()).nullable()
      .describe(`Of the role, for aws_account_id; in the place of ${SERVER_IDENTITY} comes what this server runs as in AWS`),
    external_id: z.string().describe('What the role asks for before it is assumed: the same for all exporters of the entity'),
    role_name: z.string().nullable(),
  }),
  async handle({ params: { exporter_id }, caller: { entityId } }, { db }) {
    const { bucketName: bucket, subfolder, region, roleName } = await knownExporter(db, entityId, exporter_id);
    const externalId = await findExternalId(db, entityId);
    return {
      policy: exportPolicy({ bucket, subfolder, region }), trust_policy: roleName === null ? null : trustPolicy({ externalId }),
      external_id: externalId, role_name: roleName,
    };
  },
});

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller };

/** `tried` is the revision with which the bucket was tried. */
async function changeActive(exporterId: string, { log, ...who }: Who, deps: RouteDependencies, active: boolean, tried: number | null) {
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
