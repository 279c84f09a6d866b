import * as api from '../../api/exports/export-reconciliation.ts';
import { countDeletions, type ExportDeletion, listDeletions } from '../../store/gdpr/export-deletions.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { knownExporter } from './exporter-record.ts';

const listTheLists = route(api.listDeletionLists, async ({ params: { exporter_id }, query, caller: { entityId } }, { db, settings }) => {
  const { id } = await knownExporter(db, entityId, exporter_id);
  const lists = await listDeletions(db, entityId, id, rowsOf(query));
  const total = await countDeletions(db, entityId, id);
  return showPage(settings, `/api/data_exporters/${exporter_id}/deletion_lists`, query, total, lists.map(showList));
});

function showList(list: ExportDeletion): api.DeletionList {
  const { part, round, state, key, tries, fault } = list;
  return {
    identifier: list.identifier, request: list.requestIdentifier, round, part, erased_at: list.erasedAt.toISOString(),
    identifiers: list.ids, state, key, sha256: list.sha256?.toString('hex') ?? null, tries, fault,
    notified_at: list.notifiedAt?.toISOString() ?? null, created_at: list.createdAt.toISOString(),
  };
}

export const deletionListRoutes: Route[] = [listTheLists];
