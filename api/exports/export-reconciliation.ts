/** Compares an exporter's windows with its runs, and with the files in the bucket. */
import { z } from 'zod';
import { identifier, pageNumber, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** How a file in the bucket compares with Millrace's record of it; `unchecked`: the request had too many files. */
export const FILE_STATES = ['ok', 'missing', 'differs', 'unchecked'] as const;

/** `differs`: not the manifest that the run wrote; `not_signed`: no key of this server signed it. */
export const MANIFEST_STATES = ['ok', 'missing', 'differs', 'not_signed'] as const;
const instant = z.iso.datetime();

export const ReconciledFile = z
  .object({
    key: z.string(),
    part: z.int().describe('From 1'),
    rows: z.int(),
    bytes: z.int(),
    sha256: z.string(),
    state: z
      .enum(FILE_STATES)
      .nullable()
      .describe('State in the bucket; null without verify. unchecked: too many files in one request'),
  })
  .meta({ id: 'ReconciledFile' });
export type ReconciledFile = z.output<typeof ReconciledFile>;

/** A window of an exporter, or the time between two. */
export const ReconciledWindow = z
  .object({
    window: z.object({ start: instant.nullable().describe('Null: from the first data on'), end: instant }),
    state: z
      .enum(['exported', 'gap', 'missing'])
      .describe('gap: no run exported it, and no scheduled run will; missing: due, but not exported yet'),
    reason: z.string().nullable().describe('Why the window is missing, if known'),
    run: z.string().nullable().describe('The run that exported the window, or for a missing one the last that tried'),
    run_state: z.string().nullable(),
    rows: z.int(),
    bytes: z.int(),
    types: z.array(
      z.object({
        type: z.string(),
        expected: z.int().nullable().describe('Number of rows counted before the run wrote the first one'),
        written: z.int().describe('Number of rows in the files'),
        late: z
          .int()
          .nullable()
          .describe('Number of rows that came after the export of the window; null: not counted yet, or unknown'),
        files: z.array(ReconciledFile),
      }),
    ),
    manifest: z
      .object({
        key: z.string(),
        sha256: z.string(),
        state: z.enum(MANIFEST_STATES).nullable().describe('State in the bucket; null without verify'),
      })
      .nullable(),
    elsewhere: z
      .boolean()
      .describe('True: the files are in a bucket that the exporter no longer uses; verify does not look there'),
  })
  .meta({ id: 'ReconciledWindow' });
export type ReconciledWindow = z.output<typeof ReconciledWindow>;

const MAX_WINDOWS = 62;

const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: 'must be a date such as 2026-01-31, or a time such as 2026-01-31T00:00:00Z',
  })
  .transform((value) => new Date(value));

export const reconcileExports = operation({
  id: 'reconcileExports',
  method: 'GET',
  path: '/api/data_exporters/:exporter_id/reconciliation',
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  summary: 'Compare the due windows of an exporter with its exports',
  description:
    'Lists windows in the order of time, with gaps and missing windows. With verify, Millrace compares the size and ' +
    'checksum of each file in the bucket, and the content and signature of each manifest. It downloads only manifests.',
  params: z.object({ exporter_id: identifier }),
  query: z.object({
    from: moment.optional().describe('Only windows that end after this time; by default all'),
    to: moment.optional().describe('Only windows that begin before this time; by default all'),
    verify: queryFlag.optional().describe('Compare with the files in the bucket'),
    page: pageNumber({ min: 1, max: 1_000_000, otherwise: 1 }),
    per_page: pageNumber({ min: 1, max: MAX_WINDOWS, otherwise: MAX_WINDOWS }),
  }),
  result: pageOf(ReconciledWindow),
});

export const DeletionList = z
  .object({
    identifier: z.string(),
    request: z.string().describe('The deletion request'),
    round: z.int().describe('Round of the request, from 1'),
    part: z.int().describe('From 1; each list has at most 10,000 ids'),
    erased_at: instant.describe('Delete rows of these people from before this time'),
    identifiers: z.int().describe('Number of ids in the list'),
    state: z.enum(['pending', 'notified', 'not_notified']).describe('notified: the list is in the bucket'),
    key: z.string().nullable().describe('Key of the list in the bucket; null until it is there'),
    sha256: z.string().nullable(),
    tries: z.int().describe('Number of attempts to write the list'),
    fault: z
      .string()
      .nullable()
      .describe("Why the list is not in the bucket; if not_notified, the exporter's next run tries again"),
    notified_at: instant.nullable(),
    created_at: instant,
  })
  .meta({ id: 'DeletionList' });
export type DeletionList = z.output<typeof DeletionList>;

export const listDeletionLists = operation({
  id: 'listDeletionLists',
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  method: 'GET',
  path: '/api/data_exporters/:exporter_id/deletion_lists',
  summary: 'List the deletion lists of an exporter, newest first',
  description:
    "The response has no ids of people. The lists in the bucket have them, as hashes keyed by the exporter's deletion_key.",
  params: z.object({ exporter_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(DeletionList),
});
