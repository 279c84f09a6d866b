/** Steps that build a file for a user: claim the job, write the file, mail the link. Writes CSV. */
import { randomBytes } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Cell } from '../../domain/files/cell.ts';
import type { CsvPiece } from '../../domain/files/csv-records.ts';
import { FILE_DAYS, type FileFormat } from '../../domain/files/file-format.ts';
import { type JobClaim, JobGone, type JobRef } from '../../domain/jobs/job.ts';
import { MAX_NAME, oneLine, thousands } from '../../domain/text/mail-text.ts';
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
import type { Dependencies } from '../dependencies.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { writeXls } from './xls.ts';
import { writeXlsx } from './xlsx.ts';

export type BuildFileSteps = ReturnType<typeof buildFileSteps>;

export const buildFileSteps = (deps: Dependencies) => ({
  /** Claims the job for this workflow run; returns null if another has it or it has ended. */
  async claimFile(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'file', ref, workflowRunId);
    deps.boundary('file: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Writes the whole file and ends the job. A retry writes a new file. */
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

  /** Mails the link to the user who asked for it. */
  mailFile: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailFile(deps, claim)),
});

async function writeFile(deps: Dependencies, claim: JobClaim): Promise<void> {
  const { db, files, boundary } = deps;
  const job = await findFileJob(db, claim.entityId, claim.identifier);
  if (job?.state !== 'running' || job.generation !== claim.generation) return;
  // Each attempt has its own key: concurrent attempts don't collide, and neither deletes the other's finished file.
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
    // The writer removes the folder of an interrupted file.
    await content?.return(undefined).catch(() => {});
  }
}

/** Ends the job; if another attempt has taken over, whose transaction noted the key, deletes what this one wrote. */
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

/** How often the count of rows is written: a CSV file of 400,000 rows takes two seconds. */
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

const OPTIONS = { record_delimiter: 'windows', quote_record_delimiter: true, cast: { boolean: String } } as const;

/** Writes CSV (RFC 4180) in UTF-8, with the columns' names first. A value that contains CR or LF is quoted. */
export function writeCsv(delimiter: ',' | ';' = ',') {
  return async function* csv(
    columns: readonly string[],
    batches: AsyncIterable<readonly (readonly Cell[])[]>,
  ): AsyncGenerator<Uint8Array> {
    const options = { ...OPTIONS, delimiter };
    yield Buffer.from(stringify([[...columns]], options));
    for await (const rows of batches) if (rows.length > 0) yield Buffer.from(stringify(rows as Cell[][], options));
  };
}

/** Writes the same for rows that are CSV already. */
export async function* completeCsv(
  columns: readonly string[],
  pieces: AsyncIterable<CsvPiece>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(stringify([[...columns]], OPTIONS));
  for await (const { bytes } of pieces) yield bytes;
}

type FileReport = {
  identifier: string;
  kind: string;
  format: string;
  rows: number;
  isReady: boolean;
  link: string;
};

function fileMail({ identifier, kind, format, rows, isReady, link }: FileReport): {
  subject: string;
  text: string;
} {
  const name = `${oneLine(kind, MAX_NAME)}.${oneLine(format, MAX_NAME)}`;
  const text = (line: string) => `The file ${oneLine(identifier, MAX_NAME)} ${line}\n\n${link}\n`;
  if (!isReady) return { subject: `${name} could not be built`, text: text('could not be built. The link says why:') };
  return {
    subject: `${name} is ready: ${thousands(rows)} rows`,
    text: text(
      `is ready, with ${thousands(rows)} rows. Everybody who has the link can fetch it for ${FILE_DAYS} days:`,
    ),
  };
}
