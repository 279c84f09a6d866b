import { z } from 'zod';
import { countDeletions, type ExportDeletion, listDeletions } from '../../store/gdpr/export-deletions.ts';
import { identifier } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { knownExporter } from './exporter-record.ts';

const instant = z.iso.datetime();

const DeletionListRecord = z.object({
  identifier: z.string(),
  request: z.string().describe('The request for deletion'),
  round: z.int(),
  part: z.int().describe('From 1: a list names 10,000 ids at most'),
  erased_at: instant.describe('Rows from before it are to be deleted'),
  identifiers: z.int().describe('How many ids it names'),
  state: z.enum(['pending', 'notified', 'not_notified']).describe('notified: it lies in the bucket'),
  key: z.string().nullable().describe('Where in the bucket'),
  sha256: z.string().nullable(),
  tries: z.int(),
  fault: z.string().nullable().describe('Why the bucket has not taken it: the exporter\'s next run tries again'),
  notified_at: instant.nullable(),
  created_at: instant,
});

const listTheLists = route({
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  method: 'GET',
  path: '/api/data_exporters/:exporter_id/deletion_lists',
  summary: 'List the deletion lists in the bucket of an exporter, newest first',
  description: 'The people of a list stand in the bucket alone, as hashes keyed by the exporter\'s deletion_key.',
  params: z.object({ exporter_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(DeletionListRecord),
  async handle({ params: { exporter_id }, query, caller: { entityId } }, { db, settings }) {
    const { id } = await knownExporter(db, entityId, exporter_id);
    const lists = await listDeletions(db, entityId, id, rowsOf(query));
    const total = await countDeletions(db, entityId, id);
    return showPage(settings, `/api/data_exporters/${exporter_id}/deletion_lists`, query, total, lists.map(showList));
  },
});

function showList(list: ExportDeletion): z.input<typeof DeletionListRecord> {
  const { part, round, state, key, tries, fault } = list;
  return {
    identifier: list.identifier, request: list.requestIdentifier, round, part, erased_at: list.erasedAt.toISOString(),
    identifiers: list.ids, state, key, sha256: list.sha256?.toString('hex') ?? null, tries, fault,
    notified_at: list.notifiedAt?.toISOString() ?? null, created_at: list.createdAt.toISOString(),
  };
}

export const deletionListRoutes: Route[] = [listTheLists];
