import * as api from '../../api/exports/data-exporters.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { read, write } from '../../store/core/database.ts';
import {
  deleteExporter,
  insertExporter,
  listExporters,
  lockExporter,
  lockExporterCount,
  updateExporter,
} from '../../store/exports/data-exporters.ts';
import { cancelExportRunsOf } from '../../store/exports/export-runs.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { followExporterSoon } from '../jobs/start-soon.ts';
import { requireAlertConnections } from '../syncs/connection-record.ts';
import { checkBucket } from './exporter-check.ts';
import { changedMembers, readExporter } from './exporter-definition.ts';
import { knownExporter, listedExporters, revealExporter, showExporter } from './exporter-record.ts';
import { refuseChangedMeanwhile, storedExporter } from './stored-exporter.ts';

const MAX_EXPORTERS = 100;

const listTheExporters = route(api.listDataExporters, async ({ caller: { entityId } }, { db }) => {
  return listedExporters(db, entityId, await listExporters(db, entityId));
});

const viewExporter = route(api.viewDataExporter, async ({ params: { exporter_id }, ...who }, deps) => {
  return write(deps.db, async (tx) => {
    const { secrets, ...exporter } = await storedExporter(tx, deps, who.caller.entityId, exporter_id);
    await audit(tx, who, { action: 'read', subjectKind: 'data_exporter', subject: exporter_id });
    return revealExporter(tx, deps.secrets, exporter, secrets);
  });
});

const createExporter = route(api.createDataExporter, async ({ body, keepReply, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  const definition = await read(deps.db, (tx) => readExporter(tx, entityId, body, null));
  if (body.check) await checkBucket(who, deps, null, definition);
  return write(deps.db, async (tx) => {
    await requireAlertConnections(tx, entityId, definition.notifyConnections, 'notify_connections');
    if ((await lockExporterCount(tx, entityId)) >= MAX_EXPORTERS) {
      refuse(409, 'conflict', `The entity has ${MAX_EXPORTERS} data exporters, which is the most: delete one first`);
    }
    const exporter = await insertExporter(tx, deps.secrets, entityId, { ...definition, createdBy: userId });
    await audit(tx, who, { action: 'create', subjectKind: 'data_exporter', subject: exporter.identifier });
    return keepReply(tx, await revealExporter(tx, deps.secrets, exporter, definition.secrets), {
      secretOf: exporter.identifier,
    });
  });
});

const changeExporter = route(api.updateDataExporter, async ({ params: { exporter_id }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  let tried: number | null = null;
  if (body.check) {
    const before = await storedExporter(deps.db, deps, entityId, exporter_id);
    await checkBucket({ log, ...who }, deps, exporter_id, await readExporter(deps.db, entityId, body, before));
    tried = before.revision;
  }
  const after = await write(deps.db, async (tx) => {
    const before = await storedExporter(tx, deps, entityId, exporter_id, lockExporter);
    if (tried !== null) refuseChangedMeanwhile(before, tried);
    const definition = await readExporter(tx, entityId, body, before);
    await requireAlertConnections(tx, entityId, definition.notifyConnections, 'notify_connections');
    const changed = changedMembers(before, definition);
    if (changed.length > 0) await updateExporter(tx, deps.secrets, before, definition);
    const details = { members: changed.join(' ') };
    await audit(tx, who, { action: 'update', subjectKind: 'data_exporter', subject: exporter_id, details });
    return knownExporter(tx, entityId, exporter_id);
  });
  await followExporterSoon(deps, log, after);
  return showExporter(deps.db, after);
});

const deleteTheExporter = route(api.deleteDataExporter, async ({ params: { exporter_id }, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const { deleted, shown } = await write(deps.db, async (tx) => {
    const { secrets, ...exporter } = await storedExporter(tx, deps, entityId, exporter_id, lockExporter);
    const answer = await revealExporter(tx, deps.secrets, exporter, secrets);
    await cancelExportRunsOf(tx, entityId, exporter.id, 'all');
    await deleteExporter(tx, entityId, exporter.id);
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'data_exporter',
      subject: exporter_id,
      details: { secrets_shown: true },
    });
    return { deleted: exporter, shown: answer };
  });
  await followExporterSoon(deps, log, { ...deleted, active: false });
  return shown;
});

export const dataExporterRoutes: Route[] = [
  listTheExporters,
  viewExporter,
  createExporter,
  changeExporter,
  deleteTheExporter,
];
