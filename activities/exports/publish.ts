import { createHash } from 'node:crypto';
import { signDocument } from '../../domain/core/signed-document.ts';
import { exportColumns } from '../../domain/exports/export-columns.ts';
import { APPEND_ONLY, type ExportFormat } from '../../domain/exports/export-data-type.ts';
import type { ExportManifest, UnsignedManifest } from '../../domain/exports/export-manifest.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { findEntityIdentifier } from '../../store/accounts/entities.ts';
import {
  type ExportFile,
  type ExportRecord,
  listExportFiles,
  listExportRecords,
} from '../../store/exports/export-files.ts';
import { findLateRowsFound, updatePublished } from '../../store/exports/export-run-progress.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { endExportRun } from './export-end.ts';

/** Returns the key of a window's manifest, which names the files that count. */
export function manifestKey(folder: string): string {
  return `${folder}/manifest.json`;
}

/**
 * Puts the manifest into the bucket: in one request readers see the new files instead of those of an earlier run. Then
 * the run has finished, and the next window begins where this one ends.
 */
export async function publish(deps: Dependencies, { run, exporter, bucket, definition, key }: Attempt): Promise<void> {
  const manifest = await makeManifest(deps, { ...run, attempt: key.attempt }, exporter.identifier);
  const published = { key: manifestKey(definition.folder), body: manifestBody(manifest) };
  deps.boundary('export: before the manifest');
  // As late as possible: an attempt that follows a cancel or another attempt puts nothing.
  await writeHeld(deps, key, async () => {});
  await bucket.put(published.key, published.body, 'application/json');
  deps.boundary('export: after the manifest');
  await endExportRun(deps, key, {
    failure: null,
    async alongside(tx, { attempt }) {
      if (attempt !== key.attempt) throw new JobGone();
      await updatePublished(tx, key, {
        key: published.key,
        sha256: createHash('sha256').update(published.body).digest(),
      });
      return { lateRows: await findLateRowsFound(tx, key) };
    },
  });
}

/** As it lies in the bucket. */
export function manifestBody(manifest: ExportManifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Returns a signed list of the files that a run wrote. Its definition is known, and all of it is written. */
export async function makeManifest(
  { db, secrets }: Pick<Dependencies, 'db' | 'secrets'>,
  run: ExportRun,
  exporter: string,
): Promise<ExportManifest> {
  const { entityId, id, identifier, cause, window, attempt } = run;
  const { name, format, includeHeaders, encryptionType } = run.definition!;
  const files = await listExportFiles(db, entityId, [id]);
  const types = (await listExportRecords(db, entityId, [id])).map((record) => typeEntry(record, format, files));
  const sum = (of: (file: ExportFile) => number) => files.reduce((total, file) => total + of(file), 0);
  const manifest: UnsignedManifest = {
    version: 1,
    exporter,
    exporter_name: name,
    entity: await findEntityIdentifier(db, entityId),
    run: identifier,
    cause,
    window: { kind: window.kind, start: window.start?.toISOString() ?? null, end: window.end.toISOString() },
    generation: attempt,
    written_at: new Date().toISOString(),
    format,
    compression: format === 'parquet' ? 'none' : 'gzip',
    include_headers: includeHeaders,
    encryption: encryptionType === null ? null : { type: encryptionType },
    types,
    rows: sum(({ rows }) => rows),
    bytes: sum(({ bytes }) => bytes),
  };
  return signDocument(manifest, (bytes) => secrets.sign(bytes));
}

function typeEntry(
  { dataType, rows, expected, ambiguousSets }: ExportRecord,
  format: ExportFormat,
  files: ExportFile[],
): UnsignedManifest['types'][number] {
  return {
    type: dataType,
    repeatable: APPEND_ONLY.has(dataType),
    columns: [...exportColumns(dataType, format)],
    rows,
    expected: expected ?? rows,
    ...(ambiguousSets === null ? {} : { ambiguous_sets: ambiguousSets }),
    files: files
      .filter((file) => file.dataType === dataType)
      .map((file) => ({
        key: file.key,
        part: file.part,
        rows: file.rows,
        bytes: file.bytes,
        sha256: file.sha256,
        content_bytes: file.contentBytes,
        content_sha256: file.contentSha256,
      })),
  };
}
