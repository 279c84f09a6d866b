import { randomBytes } from 'node:crypto';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Cell } from '../../domain/files/cell.ts';
import type { FileFormat } from '../../domain/files/file-format.ts';
import { fileMail } from '../../domain/files/file-mail.ts';
import { JobGone, type JobClaim, type JobRef } from '../../domain/jobs/job.ts';
import { type Database, write } from '../../store/core/database.ts';
import { deleteNotedFiles } from '../../store/core/file-deletions.ts';
import {
  failFile,
  type FileJob,
  findFileJob,
  finishFile,
  lockFileAttempt,
  updateFileKey,
  updateRowsWritten,
} from '../../store/files/file-jobs.ts';
import { fileUrl } from '../../store/files/file-link.ts';
import type { FileSource } from '../../store/files/file-source.ts';
import { fileSources } from '../../store/files/file-sources.ts';
import { claimJob } from '../../store/jobs/jobs.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import { mailOnce } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import type { Dependencies } from '../dependencies.ts';
import { completeCsv, writeCsv } from './csv.ts';
import { writeXls } from './xls.ts';
import { writeXlsx } from './xlsx.ts';

export type BuildFileSteps = ReturnType<typeof buildFileSteps>;

export const buildFileSteps = (deps: Dependencies) => ({
  /** Makes the row this run's; null when it is another's, or over. */
  async claimFile(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'file', ref, workflowRunId);
    deps.boundary('file: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Writes the file whole, and ends the job. A repeat writes it anew. */
  writeFile: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() =>
      inSlot(
        deps.takeExportSlot,
        claim.entityId,
        async () => {
          await writeFile(deps, claim);
          return null;
        },
        noteWaitOf(deps, 'file', claim),
      ),
    ),

  /** Sends the link to whoever asked for it by mail. */
  mailFile: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailFile(deps, claim)),
});

async function writeFile(deps: Dependencies, claim: JobClaim): Promise<void> {
  const { db, files, boundary } = deps;
  const job = await findFileJob(db, claim.entityId, claim.identifier);
  if (job?.state !== 'running' || job.generation !== claim.generation) return;
  // Each attempt has its own: two that write at once don't meet, and neither deletes what the other has finished.
  const key = `files/${job.identifier}/${randomBytes(12).toString('hex')}.${job.format}`;
  let content: AsyncGenerator<Uint8Array> | undefined;
  try {
    await write(db, (tx) => updateFileKey(tx, claim, key));
    boundary('file: key noted');
    await deleteNotedFiles(deps, claim.entityId, `files/${job.identifier}/`);
    const counter = new RowCounter(db, claim, key);
    content = contentOf(db, job, counter, deps.scratch.folderOf(job.entityId));
    const { sizeBytes } = await files.put(key, content);
    boundary('file: written');
    await end(deps, claim, key, (tx) => finishFile(tx, job, sizeBytes, counter.rows));
  } catch (error) {
    if (error instanceof JobGone) return;
    if (!(error instanceof Refusal)) throw error;
    await end(deps, claim, key, (tx) => failFile(tx, job, { status: String(error.status), message: error.message }));
  } finally {
    // The writer of a file that was broken off removes its folder.
    await content?.return(undefined).catch(() => {});
  }
}

/**
 * Ends the job, or deletes what this attempt has written if another has taken over. The transaction that took over
 * noted the key.
 */
async function end(
  { db, files }: Dependencies,
  claim: JobClaim,
  key: string,
  change: Parameters<typeof write<void>>[1],
): Promise<void> {
  const isOurs = await write(db, async (tx) => {
    if (!(await lockFileAttempt(tx, claim, key))) return false;
    await change(tx);
    return true;
  });
  if (!isOurs) await files.delete(key);
}

type Writer = (
  columns: readonly string[],
  batches: AsyncIterable<readonly (readonly Cell[])[]>,
  scratchFolder: string,
) => AsyncGenerator<Uint8Array>;

function contentOf(
  db: Database,
  { entityId, kind, query, format }: FileJob,
  counter: RowCounter,
  scratchFolder: string,
): AsyncGenerator<Uint8Array> {
  const source = fileSources[kind] as FileSource<unknown>;
  const columns = source.columnsOf?.(query) ?? source.columns;
  if (format === 'csv' && source.csv)
    return completeCsv(
      columns,
      counter.count(source.csv(db, entityId, query), ({ rows }) => rows),
    );
  const writers: Record<FileFormat, Writer> = { csv: writeCsv(source.delimiter), xls: writeXls, xlsx: writeXlsx };
  return writers[format](
    columns,
    counter.count(source.rows(db, entityId, query), ({ length }) => length),
    scratchFolder,
  );
}

/** How often the count of rows is written: a CSV file of 400,000 rows takes two seconds, in which its count grows. */
const TELL_EVERY_MS = 50;

class RowCounter {
  readonly #db: Database;
  readonly #claim: JobClaim;
  readonly #key: string;
  rows = 0;

  constructor(db: Database, claim: JobClaim, key: string) {
    this.#db = db;
    this.#claim = claim;
    this.#key = key;
  }

  async *count<Batch>(batches: AsyncIterable<Batch>, rowsOf: (batch: Batch) => number): AsyncGenerator<Batch> {
    let told = performance.now();
    for await (const batch of batches) {
      yield batch;
      this.rows += rowsOf(batch);
      if (performance.now() - told < TELL_EVERY_MS) continue;
      await updateRowsWritten(this.#db, this.#claim, this.#key, this.rows);
      told = performance.now();
    }
  }
}

async function mailFile(deps: Dependencies, { entityId, identifier }: JobClaim): Promise<RetryAfter | null> {
  const job = await findFileJob(deps.db, entityId, identifier);
  if (!job || !isToBeMailed(job)) return null;
  const { id, kind, format, rowsWritten: rows, state } = job;
  const link = fileUrl(deps.publicUrl, deps.secrets, identifier);
  const mail = {
    to: [job.email!],
    ...fileMail({ identifier, kind, format, rows, isReady: state === 'finished', link }),
  };
  return mailOnce(deps, { table: 'file_jobs', entityId, id, identifier }, mail, 'file');
}

function isToBeMailed({ state, email }: FileJob): boolean {
  return email !== null && (state === 'finished' || state === 'failed');
}
