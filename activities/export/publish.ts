import { createHash } from 'node:crypto';
import type { Needs } from '../needs.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { ExportGone } from './attempt-scope.ts';
import { endExportRun } from '../export-end.ts';
import { exportColumns } from '../../domain/export-columns.ts';
import { APPEND_ONLY } from '../../domain/export-data-type.ts';
import type { ExportManifest, UnsignedManifest } from '../../domain/export-manifest.ts';
import { signDocument } from '../../domain/signed-document.ts';
import { findEntityIdentifier } from '../../store/entities.ts';
import { type ExportFile, type ExportRecord, listExportFiles, listExportRecords } from '../../store/export-files.ts';
import type { ExportRun } from '../../store/export-run-record.ts';
import { findLateRowsFound, updatePublished } from '../../store/export-run-progress.ts';

/** Of the folder of a window: what names the files that count. */
export function manifestKey(folder: string): string {
  return `${folder}/manifest.json`;
}

/**
 * Puts the manifest into the bucket: in one request readers see the new files instead of those of an earlier run. Then the run has
 * finished, and the next window begins where this one ends.
 */
export async function publish(needs: Needs, { run, exporter, bucket, definition, key }: Attempt): Promise<void> {
  const manifest = await makeManifest(needs, { ...run, attempt: key.attempt }, exporter.identifier);
  const published = { key: manifestKey(definition.folder), body: manifestBody(manifest) };
  needs.boundary('export: before the manifest');
  // As late as can be: whoever comes behind a cancel, or another attempt, puts nothing.
  await writeHeld(needs, key, async () => {});
  await bucket.put(published.key, published.body, 'application/json');
  needs.boundary('export: after the manifest');
  await endExportRun(needs, key, {
    failure: null,
    async alongside(tx, { attempt }) {
      if (attempt !== key.attempt) throw new ExportGone();
      await updatePublished(tx, key, { key: published.key, sha256: createHash('sha256').update(published.body).digest() });
      return { lateRows: await findLateRowsFound(tx, key) };
    },
  });
}

/** As it lies in the bucket. */
export function manifestBody(manifest: ExportManifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** What a run wrote, signed. Its definition is known, and all of it is written. */
export async function makeManifest(
  { db, secrets }: Pick<Needs, 'db' | 'secrets'>, run: ExportRun, exporter: string,
): Promise<ExportManifest> {
  const { entityId, id, identifier, cause, window, attempt } = run;
  const { name, format, includeHeaders, encryptionType } = run.definition!;
  const files = await listExportFiles(db, entityId, [id]);
  const types = (await listExportRecords(db, entityId, [id])).map((record) => typeEntry(record, files));
  const sum = (of: (file: ExportFile) => number) => files.reduce((total, file) => total + of(file), 0);
  const manifest: UnsignedManifest = {
    version: 1, exporter, exporter_name: name, entity: await findEntityIdentifier(db, entityId), run: identifier, cause,
    window: { kind: window.kind, start: window.start?.toISOString() ?? null, end: window.end.toISOString() },
    generation: attempt, written_at: new Date().toISOString(),
    format, compression: format === 'parquet' ? 'none' : 'gzip', include_headers: includeHeaders,
    encryption: encryptionType === null ? null : { type: encryptionType },
    types, rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes),
  };
  return signDocument(manifest, (bytes) => secrets.sign(bytes));
}

function typeEntry({ dataType, rows, expected }: ExportRecord, files: ExportFile[]): UnsignedManifest['types'][number] {
  return {
    type: dataType, repeatable: APPEND_ONLY.has(dataType), columns: [...exportColumns(dataType)], rows, expected: expected ?? rows,
    files: files.filter((file) => file.dataType === dataType).map((file) => ({
      key: file.key, part: file.part, rows: file.rows, bytes: file.bytes, sha256: file.sha256,
      content_bytes: file.contentBytes, content_sha256: file.contentSha256,
    })),
  };
}
