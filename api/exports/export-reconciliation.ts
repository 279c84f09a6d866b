import { z } from 'zod';
import { identifier, pageNumber, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** What lies in the bucket beside what was noted down; `unchecked`: there were too many files for one request. */
export const FILE_STATES = ['ok', 'missing', 'differs', 'unchecked'] as const;

/** `differs`: not the one that the run wrote; `not_signed`: no key of this server signed it. */
export const MANIFEST_STATES = ['ok', 'missing', 'differs', 'not_signed'] as const;
const instant = z.iso.datetime();

export const ReconciledFile = z.object({
  key: z.string(), part: z.int(), rows: z.int(), bytes: z.int(), sha256: z.string(),
  state: z.enum(FILE_STATES).nullable().describe('In the bucket, where that was asked for'),
}).meta({ id: 'ReconciledFile' });
export type ReconciledFile = z.output<typeof ReconciledFile>;

/** A window of an exporter, or the time between two. */
export const ReconciledWindow = z.object({
  window: z.object({ start: instant.nullable().describe('Null: all there is'), end: instant }),
  state: z.enum(['exported', 'gap', 'missing'])
    .describe('gap: no run has exported it, and none will by itself; missing: it was due, and is not exported yet'),
  reason: z.string().nullable().describe('Why it is missing, where a run gave a reason'),
  run: z.string().nullable().describe('The one whose files count, or that is behind'),
  run_state: z.string().nullable(),
  rows: z.int(),
  bytes: z.int(),
  types: z.array(z.object({
    type: z.string(),
    expected: z.int().nullable().describe('Rows that were counted before the first was written'),
    written: z.int(),
    late: z.int().nullable().describe('Rows that came after the window was exported; null: not counted yet, or unknown'),
    files: z.array(ReconciledFile),
  })),
  manifest: z.object({
    key: z.string(), sha256: z.string(),
    state: z.enum(MANIFEST_STATES).nullable().describe('In the bucket, where that was asked for'),
  }).nullable(),
  elsewhere: z.boolean().describe('It lies in a bucket that the exporter no longer writes to, and is not verified'),
}).meta({ id: 'ReconciledWindow' });
export type ReconciledWindow = z.output<typeof ReconciledWindow>;

/** Two months of days. */
const MAX_WINDOWS = 62;

const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'must be a date such as 2026-01-31, or a time such as 2026-01-31T00:00:00Z',
}).transform((value) => new Date(value));

export const reconcileExports = operation({
  id: 'reconcileExports',
  method: 'GET',
  path: '/api/data_exporters/:exporter_id/reconciliation',
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  summary: 'Compare the windows that an exporter was due to export with its bucket',
  description: 'Window by window, in the order of time, the ones that are missing among them. With verify each file is looked up in '
    + 'the bucket by its size and checksum, and manifests by their content and signature; nothing else is downloaded.',
  params: z.object({ exporter_id: identifier }),
  query: z.object({
    from: moment.optional().describe('Windows that end after this; default all'),
    to: moment.optional().describe('Windows that begin before this; default all'),
    verify: queryFlag.optional().describe('Look into the bucket'),
    page: pageNumber({ min: 1, max: 1_000_000, otherwise: 1 }),
    per_page: pageNumber({ min: 1, max: MAX_WINDOWS, otherwise: MAX_WINDOWS }),
  }),
  result: pageOf(ReconciledWindow),
});

export const DeletionList = z.object({
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
}).meta({ id: 'DeletionList' });
export type DeletionList = z.output<typeof DeletionList>;

export const listDeletionLists = operation({
  id: 'listDeletionLists',
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  method: 'GET',
  path: '/api/data_exporters/:exporter_id/deletion_lists',
  summary: 'List the deletion lists in the bucket of an exporter, newest first',
  description: 'The people of a list stand in the bucket alone, as hashes keyed by the exporter\'s deletion_key.',
  params: z.object({ exporter_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(DeletionList),
});
