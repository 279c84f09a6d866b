import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { startJob } from '../../../temporal/flows.ts';
import { verifyDocument } from '../../../domain/core/signed-document.ts';
import type { ExportDataType } from '../../../domain/exports/export-data-type.ts';
import { type ExportManifest, manifestSchema } from '../../../domain/exports/export-manifest.ts';
import { decryptStream } from '../../../domain/exports/file-encryption.ts';
import { jobRefOf } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import type { DataExporter, NewExporter } from '../../../store/exports/data-exporter-record.ts';
import type { ExportRun, NewExportRun } from '../../../store/exports/export-run-record.ts';
import { findExportRun, insertExportRun } from '../../../store/exports/export-runs.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { personId } from '../core/people.ts';
import type { TestS3 } from '../core/s3.ts';
import type { Stack } from '../core/stack.ts';
import { waitFor } from '../core/wait.ts';
import { makeTrackedWorld, type TrackedWorld } from '../tracking/tracked-calls.ts';
import { storedExporter } from './stored-exporters.ts';

/** A day that is over, of whose rows tests export. */
export const DAY = { start: new Date('2026-11-19T23:00:00Z'), end: new Date('2026-11-20T23:00:00Z') };
export const ENCRYPTION_KEY = 'an-exporters-key-of-32-bytes-abc';

export type ExportWorld = TrackedWorld & { exporter: DataExporter; s3: TestS3; encryptionKey: string | null };

/** An entity with an app, and an exporter into the bucket that begins with `DAY`. */
export async function makeExportWorld(
  stack: Stack,
  s3: TestS3,
  exporter: Partial<NewExporter> = {},
): Promise<ExportWorld> {
  const world = await makeTrackedWorld(stack.store);
  return { ...world, ...(await addExporter(stack, s3, world, exporter)), s3 };
}

/** Another exporter of the same entity. */
export async function addExporter(stack: Stack, s3: TestS3, world: TrackedWorld, exporter: Partial<NewExporter> = {}) {
  const { endpoint, region, bucket, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = s3.settings;
  const encryptionKey = exporter.encryptionType
    ? ENCRYPTION_KEY.slice(0, Number(/\d+/.exec(exporter.encryptionType)![0]) / 8)
    : null;
  const stored = await write(stack.store.db, (tx) =>
    storedExporter(tx, stack.store.secrets, world, {
      endpoint,
      region,
      bucketName: bucket,
      appIds: [world.app.id],
      exportsSince: DAY.start,
      ...exporter,
      secrets: { accessKeyId, secretAccessKey, encryptionKey },
    }),
  );
  return { exporter: stored, encryptionKey };
}

/** So many events, each a second after the one before, which came in spread over a day. */
export async function insertEvents(
  { store }: Stack,
  { entity, app }: TrackedWorld,
  count: number,
  { from = DAY.start, to = DAY.end, name = 'Bought' } = {},
): Promise<void> {
  await ensurePartitions(store.db, [from, to]);
  await write(store.db, (tx) =>
    tx.query(
      `INSERT INTO events (entity_id, app_id, happened_at, received_at, log_type, utc_offset, device_id, user_id, name, detail)
     SELECT $1, $2, at, at, 2, 60, 'device-' || n % 100, replace($6, '-0@', '-' || n % 50 || '@'), $7 || ' ' || n,
       jsonb_build_object('price', n, 'text', 'a "quoted", one' || chr(10) || n)
     FROM (SELECT n, $3::timestamptz + ($4::timestamptz - $3) * (n::float8 / $5) AS at FROM generate_series(0, $5 - 1) n) rows`,
      [entity.id, app.id, from, to, count, personId(0), name],
    ),
  );
}

/** Asks for a run, and returns it as it stands. */
export async function askForExport(
  { store, temporal }: Stack,
  { exporter }: Pick<ExportWorld, 'exporter'>,
  run: Partial<NewExportRun> = {},
): Promise<ExportRun> {
  const asked = await write(store.db, (tx) =>
    insertExportRun(tx, exporter.entityId, {
      exporterId: exporter.id,
      cause: 'request',
      window: { start: null, end: DAY.end },
      ...run,
    }),
  );
  assert.ok(asked);
  await startJob(temporal, 'export', jobRefOf(asked));
  return asked;
}

/** Once a run has ended and what it left behind is removed; after a failure the bucket may be gone. */
export function exportEnded({ store }: Stack, { entityId, identifier }: ExportRun): Promise<ExportRun> {
  return waitFor(`the end of export ${identifier}`, async () => {
    const run = await findExportRun(store.db, entityId, identifier);
    const { rows } = await store.db.query<{ is_cleaned: boolean }>(
      `SELECT is_cleaned OR attempt = 0 OR state = 'failed' AS is_cleaned FROM export_runs
       WHERE entity_id = $1 AND identifier = $2`,
      [entityId, identifier],
    );
    return run?.endedAt && rows[0]!.is_cleaned ? run : null;
  });
}

/** Asks for a run and waits for its end. */
export async function runExport(
  stack: Stack,
  world: Pick<ExportWorld, 'exporter'>,
  run: Partial<NewExportRun> = {},
): Promise<ExportRun> {
  return exportEnded(stack, await askForExport(stack, world, run));
}

export type ReadExport = {
  manifest: ExportManifest;
  rows: Partial<Record<ExportDataType, string[][]>>;
  content: Record<string, string>;
};

/** Reads what a manifest names as a careful reader does: its signature, then each file's size, hashes and rows. */
export async function readExport(
  { store }: Pick<Stack, 'store'>,
  { s3, encryptionKey }: ExportWorld,
  folder: string,
): Promise<ReadExport> {
  const given = JSON.parse((await s3.get(`${folder}/manifest.json`)).toString()) as object;
  assert.equal(verifyDocument(given, store.secrets.signingKeys()), 'valid');
  const manifest = manifestSchema.parse(given);
  const rows: ReadExport['rows'] = {};
  const content: Record<string, string> = {};
  for (const { type, files, rows: count } of manifest.types) {
    const read: string[][] = [];
    for (const file of files) {
      const records = await recordsOf(manifest.format, await readFile(s3, encryptionKey, manifest, file));
      if (manifest.include_headers && manifest.format === 'csv') {
        assert.deepEqual(records.shift(), manifest.types.find((entry) => entry.type === type)!.columns);
      }
      assert.equal(records.length, file.rows);
      read.push(...records);
      content[`${type}-${file.part}`] = file.content_sha256;
    }
    assert.equal(read.length, count);
    rows[type as ExportDataType] = read;
  }
  return { manifest, rows, content };
}

type FileEntry = ExportManifest['types'][number]['files'][number];

async function readFile(
  s3: TestS3,
  key: string | null,
  { encryption }: ExportManifest,
  file: FileEntry,
): Promise<Buffer> {
  const stored = await s3.get(file.key);
  assert.deepEqual({ bytes: stored.length, sha256: sha256(stored) }, { bytes: file.bytes, sha256: file.sha256 });
  const content = encryption ? await decrypted(stored, encryption.type, key!) : stored;
  assert.deepEqual(
    { bytes: content.length, sha256: sha256(content) },
    { bytes: file.content_bytes, sha256: file.content_sha256 },
  );
  return content;
}

async function recordsOf(format: ExportManifest['format'], content: Buffer): Promise<string[][]> {
  if (format === 'parquet') {
    const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.length) as ArrayBuffer;
    return (await parquetReadObjects({ file })).map((row) => Object.values(row).map(String));
  }
  const text = gunzipSync(content).toString();
  return format === 'csv'
    ? parse(text)
    : text
        .trimEnd()
        .split('\n')
        .map((line) => Object.values(JSON.parse(line) as object).map(String));
}

async function decrypted(bytes: Buffer, type: string, key: string): Promise<Buffer> {
  const stream = decryptStream(type, key);
  stream.end(bytes);
  return Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>));
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
