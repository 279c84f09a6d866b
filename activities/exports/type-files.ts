import { exportColumns } from '../../domain/exports/export-columns.ts';
import { APPEND_ONLY, type ExportDataType, type ExportFormat } from '../../domain/exports/export-data-type.ts';
import { encryptionStream } from '../../domain/exports/file-encryption.ts';
import {
  type ExportRecord,
  insertExportFile,
  listExportRecords,
  updateRecordBegun,
  updateRecordDone,
  updateRecordRestarted,
} from '../../store/exports/export-files.ts';
import { updateFaultGone } from '../../store/exports/export-run-progress.ts';
import { holdSnapshot, letSnapshotGo } from '../../store/exports/export-session.ts';
import {
  countAmbiguousSets,
  countExpected,
  type ExportScope,
  findSnapshot,
  isReadAtOnce,
} from '../../store/exports/export-sources.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { parquetOf } from './parquet.ts';
import { type Part, type PartRules, type PartWritten, startPart } from './part.ts';
import { SliceReader } from './slice-reader.ts';
import { readSlices, scopeOf } from './source.ts';

/**
 * Writes what is left of a type; all of it anew where it is to be read in one snapshot, and that of an earlier attempt
 * is gone.
 */
export async function writeType(deps: Dependencies, attempt: Attempt, found: ExportRecord): Promise<void> {
  const scope = await scopeOf(deps.db, attempt.run);
  const {
    key: { entityId },
    sessions: [session],
  } = attempt;
  const restarted = () => writeHeld(deps, attempt.key, (tx) => updateRecordRestarted(tx, entityId, found));
  if (isReadAtOnce(found.dataType, scope)) {
    const record = found.expected === null ? found : await restarted();
    await holdSnapshot(session);
    // A snapshot is one session's.
    await writeRest(deps, { ...attempt, sessions: [session, session] }, record, scope);
    await letSnapshotGo(session);
  } else {
    await writeRest(deps, attempt, found, scope);
    if (!(await isWhole(deps, attempt, found, scope))) await writeRest(deps, attempt, await restarted(), scope);
  }
  await writeHeld(deps, attempt.key, (tx) => updateRecordDone(tx, entityId, found));
}

/**
 * Rows that never change are as many as were counted, but for those of erased people. Otherwise the table was written
 * anew while it was read (CLUSTER, VACUUM FULL, a restored dump), and places in it were no longer what they had been.
 */
async function isWhole(
  { db }: Dependencies,
  { sessions: [session], key }: Attempt,
  { dataType }: ExportRecord,
  scope: ExportScope,
): Promise<boolean> {
  if (!APPEND_ONLY.has(dataType) || scope.window.kind !== 'received') return true;
  const records = await listExportRecords(db, key.entityId, [key.jobId]);
  const { rows, expected } = records.find((record) => record.dataType === dataType)!;
  return rows >= expected! ? rows === expected : rows >= (await countExpected(session, dataType, scope));
}

/** A file may still be on its way to the bucket while the next one is read. */
async function writeRest(
  deps: Dependencies,
  attempt: Attempt,
  record: ExportRecord,
  scope: ExportScope,
): Promise<void> {
  await beginType(deps, attempt, record, scope);
  const slices = new SliceReader(
    readSlices(attempt.sessions, record.dataType, scope, record.checkpoint),
    record.checkpoint,
  );
  try {
    await writeFiles(deps, attempt, record, slices);
  } finally {
    slices.close();
  }
}

/** Once in a run: another attempt goes on with what the first one saw. */
async function beginType(
  deps: Dependencies,
  { sessions: [session], key }: Attempt,
  record: ExportRecord,
  scope: ExportScope,
): Promise<void> {
  if (record.expected !== null) return;
  const snapshot = await findSnapshot(session);
  const expected = await countExpected(session, record.dataType, scope);
  const ambiguousSets = await countAmbiguousSets(session, record.dataType, scope);
  await writeHeld(deps, key, (tx) =>
    updateRecordBegun(tx, key.entityId, record, { expected, ambiguousSets, snapshot }),
  );
}

async function writeFiles(
  deps: Dependencies,
  attempt: Attempt,
  record: ExportRecord,
  slices: SliceReader,
): Promise<void> {
  const rules = partRules(attempt, record.dataType);
  let recorded = Promise.resolve();
  let last: Promise<unknown> = recorded;
  try {
    for (let number = record.files + 1; await slices.hasRows(); number += 1) {
      deps.draining.throwIfAborted();
      attempt.scope.throwIfEnding();
      const file = { dataType: record.dataType, part: number, key: fileKey(attempt, record.dataType, number) };
      const part = startPart(slices, rules, (bytes) => attempt.bucket.upload(file.key, bytes), attempt.scope.signal);
      const before = recorded;
      last = part.written;
      recorded = before.then(() => recordFile(deps, attempt, file, part));
      recorded.catch((error: unknown) => attempt.scope.end(error)); // nothing of it is waited for any more
      await part.read;
      await before;
    }
  } finally {
    await Promise.allSettled([recorded, last]);
  }
  await recorded;
}

type FileName = { dataType: ExportDataType; part: number; key: string };

/** In the order of the files, since reading goes on behind the last one that is recorded. */
async function recordFile(
  deps: Dependencies,
  { key }: Attempt,
  name: FileName,
  { read, written }: Part,
): Promise<void> {
  const [{ rows, next }, file]: [Awaited<Part['read']>, PartWritten] = await Promise.all([read, written]);
  deps.boundary('export: after a file was uploaded');
  await writeHeld(deps, key, async (tx) => {
    await insertExportFile(tx, key.entityId, key.jobId, { ...name, ...file, rows }, next);
    await updateFaultGone(tx, key);
  });
  deps.boundary('export: after a file was recorded');
}

const ENDINGS: Record<ExportFormat, string> = { csv: 'csv.gz', jsonl: 'jsonl.gz', parquet: 'parquet' };

function fileKey(
  { definition: { folder, format, encryptionType }, key: { attempt } }: Attempt,
  type: ExportDataType,
  part: number,
): string {
  const [generation, number] = [attempt, part].map((of) => String(of).padStart(4, '0'));
  return `${folder}/${generation}/${type}-${number}.${ENDINGS[format]}${encryptionType === null ? '' : '.enc'}`;
}

function partRules({ definition, secrets }: Attempt, type: ExportDataType): PartRules {
  const { format, includeHeaders, partBytes, encryptionType } = definition;
  return {
    header: includeHeaders && format === 'csv' ? Buffer.from(`${exportColumns(type).join(',')}\n`) : null,
    partBytes,
    encode: format === 'parquet' ? (bytes) => parquetOf(type, bytes) : null,
    cipher: encryptionType === null ? null : () => encryptionStream(encryptionType, secrets.encryptionKey!),
  };
}
