/** The route that compares an exporter's windows with its runs and with the files in the bucket. */
import { createHash } from 'node:crypto';
import * as api from '../../api/exports/export-reconciliation.ts';
import { type ExportBucket, openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { verifyDocument } from '../../domain/core/signed-document.ts';
import { findEntityZone, findExternalId } from '../../store/accounts/entities.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { openExporterSecrets } from '../../store/exports/data-exporters.ts';
import {
  type ExportFile,
  type ExportRecord,
  listExportFiles,
  listExportRecords,
} from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import {
  type ExportedWindow,
  findRunBehind,
  listExportedWindows,
  type WindowRange,
} from '../../store/exports/export-windows.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import { type ExportDeletion, listDeletions } from '../../store/gdpr/export-deletions.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { knownExporter, missingWindow } from './exporter-record.ts';

const viewReconciliation = route(
  api.reconcileExports,
  async ({ params: { exporter_id }, query, caller: { entityId }, log }, deps) => {
    const { from = null, to = null, verify = false, ...page } = query;
    const exporter = await knownExporter(deps.db, entityId, exporter_id);
    const range = { from, to };
    const { id } = exporter;
    const { items: windows, total } = await listExportedWindows(deps.db, entityId, id, { ...range, ...rowsOf(page) });
    const verified = verify
      ? await verifyAll(
          deps,
          exporter,
          windows.map(({ run }) => run),
          log,
        )
      : new Map<number, Verified>();
    const items = await showWindows(deps.db, exporter, windows, verified);
    const isLastPage = page.page * page.per_page >= total;
    if (isLastPage) items.push(...(await missingAtEnd(deps.db, exporter, range)));
    return showPage(deps.settings, `/api/data_exporters/${exporter_id}/reconciliation`, page, total, items);
  },
);

type Shown = api.ReconciledWindow;

async function showWindows(
  db: Queryable,
  exporter: DataExporter,
  windows: ExportedWindow[],
  verified: Map<number, Verified>,
): Promise<Shown[]> {
  const ids = windows.map(({ run }) => run.id);
  const records = Map.groupBy(await listExportRecords(db, exporter.entityId, ids), ({ runId }) => runId);
  const files = Map.groupBy(await listExportFiles(db, exporter.entityId, ids), ({ runId }) => runId);
  return windows.flatMap(({ run, before }) => [
    ...(before && run.window.start && before < run.window.start ? [showGap(before, run.window.start)] : []),
    showExported(run, {
      records: records.get(run.id) ?? [],
      files: files.get(run.id) ?? [],
      verified: verified.get(run.id) ?? null,
      isElsewhere: !isSameBucket(run.definition!, exporter),
    }),
  ]);
}

/** Returns the gap behind all exported windows that was due by now. */
async function missingAtEnd(db: Queryable, exporter: DataExporter, { from, to }: WindowRange): Promise<Shown[]> {
  const { entityId, id, paused } = exporter;
  const missing = missingWindow(exporter, await findEntityZone(db, entityId), new Date());
  if (!missing) return [];
  const { start, end } = missing;
  if ((from && from >= end) || (to && start && to <= start)) return [];
  return [showMissing(start, end, await findRunBehind(db, entityId, id, start), paused && paused.reason)];
}

/** Returns findings by the runs' ids. Refuses in the bucket's words. */
async function verifyAll(
  deps: RouteDependencies,
  exporter: DataExporter,
  runs: ExportRun[],
  log: Parameters<RouteDependencies['connectorCalls']['run']>[0]['log'],
): Promise<Map<number, Verified>> {
  const { db, secrets, connectorCalls, limits } = deps;
  const { entityId, id } = exporter;
  const here = runs.filter(
    ({ definition, manifestKey }) => manifestKey !== null && isSameBucket(definition!, exporter),
  );
  const files = await listExportFiles(
    db,
    entityId,
    here.map((run) => run.id),
  );
  const secretSettings = await openExporterSecrets(db, secrets, entityId, id);
  const access = exporterAccess(exporter, secretSettings, await findExternalId(db, entityId));
  const outcome = await connectorCalls.run(
    { entityId, withinMs: limits.discoverMs, log, secretSettings },
    async (context) => {
      const bucket = openExportBucket(access, context);
      try {
        return await verifyRuns(bucket, deps, here, files);
      } finally {
        bucket.close();
      }
    },
  );
  if (!outcome.ok) throw outcome.refusal;
  return outcome.value;
}

async function verifyRuns(
  bucket: ReturnType<typeof openExportBucket>,
  { secrets }: Pick<RouteDependencies, 'secrets'>,
  runs: ExportRun[],
  files: ExportFile[],
): Promise<Map<number, Verified>> {
  // Manifests first: they report a fault of the access in the bucket's words, which an answer to HEAD lacks.
  const manifests = new Map<number, ManifestState>();
  for (const run of runs) manifests.set(run.id, await checkManifest(bucket, secrets, run));
  const states = await verifyFiles(bucket, files);
  return new Map([...manifests].map(([id, manifest]) => [id, { files: states, manifest }]));
}

const listTheLists = route(
  api.listDeletionLists,
  async ({ params: { exporter_id }, query, caller: { entityId } }, { db, settings }) => {
    const { id } = await knownExporter(db, entityId, exporter_id);
    const { items, total } = await listDeletions(db, entityId, id, rowsOf(query));
    return showPage(settings, `/api/data_exporters/${exporter_id}/deletion_lists`, query, total, items.map(showList));
  },
);

function showList(list: ExportDeletion): api.DeletionList {
  const { part, round, state, key, tries, fault } = list;
  return {
    identifier: list.identifier,
    request: list.requestIdentifier,
    round,
    part,
    erased_at: list.erasedAt.toISOString(),
    identifiers: list.ids,
    state,
    key,
    sha256: list.sha256?.toString('hex') ?? null,
    tries,
    fault,
    notified_at: list.notifiedAt?.toISOString() ?? null,
    created_at: list.createdAt.toISOString(),
  };
}

export const exportReconciliationRoutes: Route[] = [viewReconciliation, listTheLists];

type Window = api.ReconciledWindow;

const NOTHING = { rows: 0, bytes: 0, types: [], manifest: null, elsewhere: false };

type Verified = { files: Map<string, FileState>; manifest: ManifestState };

type ExportedParts = {
  records: ExportRecord[];
  files: ExportFile[];
  verified: Verified | null;
  isElsewhere: boolean;
};

function showExported(run: ExportRun, { records, files, verified, isElsewhere }: ExportedParts): Window {
  return {
    window: { start: run.window.start && wholeSeconds(run.window.start), end: wholeSeconds(run.window.end) },
    state: 'exported',
    reason: null,
    run: run.identifier,
    run_state: run.state,
    rows: records.reduce((sum, { rows }) => sum + rows, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    types: records.map(({ dataType, expected, rows, lateRows }) => ({
      type: dataType,
      expected,
      written: rows,
      late: lateRows,
      files: files.filter((file) => file.dataType === dataType).map((file) => showFile(file, verified)),
    })),
    manifest:
      run.manifestKey === null
        ? null
        : { key: run.manifestKey, sha256: run.manifestSha256!, state: verified && verified.manifest },
    elsewhere: isElsewhere,
  };
}

function showFile({ key, part, rows, bytes, sha256 }: ExportFile, verified: Verified | null): api.ReconciledFile {
  return { key, part, rows, bytes, sha256, state: verified?.files.get(key) ?? null };
}

function showGap(start: Date, end: Date): Window {
  return {
    ...NOTHING,
    window: { start: wholeSeconds(start), end: wholeSeconds(end) },
    state: 'gap',
    reason: null,
    run: null,
    run_state: null,
  };
}

function showMissing(start: Date | null, end: Date, run: ExportRun | null, paused: string | null): Window {
  return {
    ...NOTHING,
    window: { start: start && wholeSeconds(start), end: wholeSeconds(end) },
    state: 'missing',
    reason: paused ?? run?.failure?.message ?? run?.fault ?? null,
    run: run && run.identifier,
    run_state: run && run.state,
  };
}

type FileState = (typeof api.FILE_STATES)[number];

type ManifestState = (typeof api.MANIFEST_STATES)[number];

const AT_ONCE = 16;

/** Maximum number of files: each takes a request to the bucket. */
const MAX_FILES = 5_000;

/** Compares sizes and the bucket's own checksums, without a download. */
async function verifyFiles(bucket: ExportBucket, files: readonly ExportFile[]): Promise<Map<string, FileState>> {
  const states = new Map<string, FileState>(files.map(({ key }) => [key, 'unchecked']));
  const waiting = files.slice(0, MAX_FILES).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const file of waiting) states.set(file.key, await stateOf(bucket, file));
    }),
  );
  return states;
}

async function stateOf(bucket: ExportBucket, { key, bytes, bucketChecksum }: ExportFile): Promise<FileState> {
  const found = await bucket.head(key);
  if (!found) return 'missing';
  return found.bytes === bytes && (bucketChecksum === null || found.checksum === bucketChecksum) ? 'ok' : 'differs';
}

async function checkManifest(
  bucket: ExportBucket,
  secrets: Secrets,
  { manifestKey, manifestSha256 }: ExportRun,
): Promise<ManifestState> {
  const body = await bucket.readAll(manifestKey!).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 'too_large') return 'differs' as const;
    throw error;
  });
  if (body === null) return 'missing';
  if (body === 'differs') return body;
  if (createHash('sha256').update(body).digest('hex') !== manifestSha256) return 'differs';
  return verifyDocument(JSON.parse(body.toString()) as object, secrets.signingKeys()) === 'valid' ? 'ok' : 'not_signed';
}
