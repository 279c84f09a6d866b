/** Steps of an import: fetch its file, merge its rows, end it and mail its report. */
import { Context } from '@temporalio/activity';
import { download } from '../../connectors/core/download.ts';
import { canonicalFile } from '../../connectors/files/canonical-file.ts';
import type { Mail } from '../../connectors/smtp/mailer.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { FileFailure, HeaderReading } from '../../domain/imports/import-file.ts';
import { importMail } from '../../domain/imports/import-mail.ts';
import { refuseBeyond } from '../../domain/imports/kept-files.ts';
import { isDamage } from '../../domain/imports/source-defect.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { waitBeforeRetry } from '../../domain/jobs/patience.ts';
import { addPendingCustomers } from '../../store/attributes/customers.ts';
import { findSimilarLines } from '../../store/attributes/similar-ids.ts';
import { isQueryCanceled, read, type Tx, write } from '../../store/core/database.ts';
import { deleteNotedFiles } from '../../store/core/file-deletions.ts';
import { listImportLanes } from '../../store/imports/import-lanes.ts';
import {
  findImportSource,
  type RemoteSource,
  updateFetchedBytes,
  updateFetchError,
  updateImportFile,
  claimImport,
  findImport,
  findImportById,
  findMailFacts,
  type Import,
  type ImportFileFormat,
  type PinnedImport,
  type ReadableImport,
  updateImportConverted,
  updateImportFormat,
  updateSimilarIds,
} from '../../store/imports/imports.ts';
import { lockKeptFiles, sumKeptFiles } from '../../store/imports/kept-files.ts';
import { FILE_LIMITS, pinFile, storeFile } from '../../store/imports/pin-file.ts';
import { heartbeating, stopIfAsked } from '../core/heartbeat.ts';
import { inSlot, type NoteWait, takeSlot } from '../core/in-slot.ts';
import { LaneQueue } from '../core/lane-queue.ts';
import { mailOnce } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { type Batch, importRules, type ImportRules, pinnedHeader, readBatches } from './import-batches.ts';
import { checkBatch, failImport, finishImport, type LanePart, mergePart } from './import-merge.ts';
import { OvertakenLines } from './import-overtaken.ts';

export type ImportAttributesSteps = ReturnType<typeof importAttributesSteps>;

export const importAttributesSteps = (deps: Dependencies) => ({
  /** Claims the import for this workflow run; returns null if another has it or it has ended. */
  async claimImport(ref: JobRef, workflowRunId: string): Promise<(JobClaim & { toFetch: boolean }) | null> {
    const claimed = await claimImport(deps.db, ref.entityId, ref.jobId, workflowRunId);
    deps.boundary('import: claimed');
    return claimed && { ...ref, generation: claimed.generation, toFetch: !claimed.isPinned };
  },

  /** Fetches and pins the file of an address. */
  fetchFile: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => inTurn(deps, claim, () => fetchFile(deps, claim))),

  /** Merges the rest of the file, batch by batch; each lane's part commits with its counts, errors and cursor. */
  loadRows: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() =>
      inTurn(deps, claim, async () => {
        try {
          for (let outcome: Outcome = 'moved'; outcome === 'moved';) {
            const job = await findClaimed(deps, claim);
            outcome = job ? await loadFromCursor(deps, job) : 'done';
          }
        } catch (error) {
          // The file of a canceled import may be deleted while its last batches are read.
          if (await findClaimed(deps, claim)) throw error;
        }
        return null;
      }),
    ),

  /** Ends the import after its last row. Returns whether it mails its report. */
  async endImport(claim: JobClaim): Promise<{ mails: boolean }> {
    const job = await findClaimed(deps, claim);
    if (job) await finishImport(deps, job);
    const ended = await findImport(deps.db, claim.entityId, claim.identifier);
    const isOurs = ended?.generation === claim.generation && (ended.state === 'finished' || ended.state === 'failed');
    return { mails: isOurs && !ended.skipEmail };
  },

  mailReport: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailReport(deps, claim)),
});

function inTurn(
  deps: Dependencies,
  claim: JobClaim,
  step: () => Promise<RetryAfter | null>,
): Promise<RetryAfter | null> {
  return inSlot(deps.takeImportSlot, claim.entityId, step, noteWaitOf(deps, 'import', claim));
}

/** Returns null if another generation has taken over or the import has ended. */
async function findClaimed(
  { db }: Dependencies,
  { entityId, identifier, generation }: JobClaim,
): Promise<PinnedImport | null> {
  const job = await findImport(db, entityId, identifier);
  return job?.state === 'running' && job.generation === generation && job.file ? { ...job, file: job.file } : null;
}

/**
 * Fetches the file of an import and pins it, completely or not at all: a failed attempt leaves nothing, and the next
 * one starts from the beginning. A source that cannot be fetched fails the import, with a reason for its owner.
 */
async function fetchFile(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const source = await findImportSource(deps.db, deps.secrets, claim);
  if (!source) return null; // fetched already, or not wanted any more
  const unwanted = new AbortController();
  try {
    await pinSource(deps, claim, source, unwanted);
    return null;
  } catch (error) {
    if (unwanted.signal.aborted) return null;
    if (error instanceof Refusal) return waitOrGiveUp(deps, claim, error);
    throw error;
  }
}

const PROGRESS_EVERY_MS = 1_000;

async function pinSource(
  deps: Dependencies,
  claim: JobClaim,
  { url, headers, sorId }: RemoteSource & { sorId: number },
  unwanted: AbortController,
): Promise<void> {
  const { db, files, boundary } = deps;
  let fetchedBytes = 0;
  const progress = setInterval(() => {
    updateFetchedBytes(db, claim, fetchedBytes).then(
      (isWanted) => {
        if (!isWanted) unwanted.abort();
      },
      () => {},
    );
  }, PROGRESS_EVERY_MS);
  try {
    const signal = AbortSignal.any([unwanted.signal, Context.current().cancellationSignal]);
    const onBytes = (bytes: number) => {
      fetchedBytes += bytes;
    };
    const bytes = download(deps.outside.fetch, url, { headers, signal, maxBytes: FILE_LIMITS.uploadBytes, onBytes });
    const kept = await sumKeptFiles(db, claim.entityId, sorId);
    let storedBytes = 0;
    const onStore = (piece: number) => {
      refuseBeyond(kept, deps.keptLimits, (storedBytes += piece), new Date());
    };
    const pinned = await pinFile(files, bytes, { ...FILE_LIMITS, signal, onStore });
    boundary('import: file stored');
    const { fileKey, fileBytes } = pinned;
    const note = (tx: Tx) => updateImportFile(tx, claim, pinned);
    const isTaken = await noteKeptFile(deps, { ...claim, sorId }, { fileKey, more: fileBytes }, note);
    boundary('import: file noted');
    if (!isTaken) await files.delete(fileKey);
  } finally {
    clearInterval(progress);
  }
}

/**
 * Notes a stored file of an import with `note`, which returns false if the file is not wanted any more. Refuses if
 * other files have used up the limit for its `more` bytes meanwhile, and then deletes the stored file.
 */
async function noteKeptFile(
  { db, files, keptLimits }: Pick<Dependencies, 'db' | 'files' | 'keptLimits'>,
  { entityId, sorId }: { entityId: number; sorId: number },
  { fileKey, more }: { fileKey: string; more: number },
  note: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await write(db, async (tx) => {
      const kept = await lockKeptFiles(tx, entityId, sorId);
      const isTaken = await note(tx);
      if (isTaken && more > 0) refuseBeyond(kept, keptLimits, more, new Date());
      return isTaken;
    });
  } catch (error) {
    // After any other error the transaction may have committed.
    if (error instanceof Refusal) await files.delete(fileKey);
    throw error;
  }
}

async function waitOrGiveUp(
  deps: Dependencies,
  claim: JobClaim,
  { status, message, extra }: Refusal,
): Promise<RetryAfter | null> {
  const trouble = await updateFetchError(deps.db, claim, message);
  if (trouble === null) return null; // canceled, or another generation's
  const { tries } = trouble;
  const againInMs = waitBeforeRetry({ status, extra }, { ...trouble, patienceMs: deps.patienceMs });
  if (againInMs !== null) return { againInMs };
  const often = tries > 1 ? ` (tried ${tries} times)` : '';
  await failImport(deps, claim, { errorType: 'FILE_TRANSFER_ERROR', message: message + often });
  return null;
}

async function loadFromCursor(deps: Dependencies, pinned: PinnedImport): Promise<Outcome> {
  const fail = async (failure: FileFailure) => {
    await failImport(deps, { ...pinned, jobId: pinned.id }, failure);
    return 'done' as const;
  };
  const job = await readableImport(deps, pinned);
  if (job === 'moved') return job;
  if ('errorType' in job) return fail(job);
  const header = await pinnedHeader(deps.files, job);
  await updateImportFormat(deps.db, job, header.ok ? header.format : null);
  if (!header.ok) return fail(header);
  const outcome = await loadLanes(deps, job, header);
  if (outcome === 'done' && job.dryRun) {
    await inSlot(deps.takePartSlot, job.entityId, () => compareIds(deps, job));
  }
  return outcome;
}

/**
 * Returns the import with its file as CSV in UTF-8. A file in another form is converted once: the result replaces the
 * original, whose size and checksum are kept. A killed conversion starts again. `moved`: another attempt has done it.
 */
async function readableImport(deps: Dependencies, job: PinnedImport): Promise<ReadableImport | FileFailure | 'moved'> {
  const { files } = deps;
  if ((await files.size(job.file.fileKey)) !== job.file.fileBytes) {
    return {
      errorType: 'FILE_TRANSFER_ERROR',
      message: 'the stored copy of the file is gone or damaged: import it again',
    };
  }
  if (isDamage(job.file.sourceDefect)) {
    return {
      errorType: 'FILE_TRANSFER_ERROR',
      message: `${job.file.sourceDefect!}, so no row of it was read: send it again`,
    };
  }
  if (job.fileFormat !== null) return { ...job, fileFormat: job.fileFormat };
  const pinned = files.read(job.file.fileKey);
  try {
    const signal = AbortSignal.any([deps.draining, Context.current().cancellationSignal]);
    const {
      format: table,
      isConverted,
      chunks,
    } = await canonicalFile(pinned, job.fileSettings, {
      scratch: deps.scratch.folderOf(job.entityId),
      signal,
      maxBytes: FILE_LIMITS.decompressedBytes,
    });
    const fileFormat = {
      ...table,
      decimal: table.format === 'xlsx' ? ('.' as const) : (job.fileSettings.decimal ?? '.'),
    };
    return isConverted ? await storeConverted(deps, job, chunks, fileFormat) : { ...job, fileFormat };
  } catch (error) {
    if (error instanceof Refusal) return failureOf(error);
    throw error;
  } finally {
    pinned.destroy();
  }
}

async function storeConverted(
  deps: Dependencies,
  job: PinnedImport,
  chunks: AsyncIterable<Buffer>,
  fileFormat: ImportFileFormat,
): Promise<ReadableImport | 'moved'> {
  const { db, files, boundary } = deps;
  const kept = await sumKeptFiles(db, job.entityId, job.sorId);
  // It replaces the original, which is counted already.
  let more = -job.file.fileBytes;
  const onStore = (bytes: number) => {
    more += bytes;
    if (more > 0) refuseBeyond(kept, deps.keptLimits, more, new Date());
  };
  const converted = await storeFile(files, chunks, { onStore });
  boundary('import: file converted');
  const { fileKey } = converted;
  const isTaken = await noteKeptFile(deps, job, { fileKey, more }, (tx) =>
    updateImportConverted(tx, job, converted, fileFormat),
  );
  boundary('import: conversion noted');
  if (isTaken) await deleteNotedFiles(deps, job.entityId, job.file.fileKey);
  else await files.delete(fileKey);
  return isTaken ? { ...job, file: { ...job.file, ...converted }, fileFormat } : 'moved';
}

function failureOf({ status, message }: Refusal): FileFailure {
  const isTransfer = status === 'too_large' || status === 'transfer_broken' || status === 'too_many_requests';
  return { errorType: isTransfer ? 'FILE_TRANSFER_ERROR' : 'PARSING_FAILED', message };
}

/** `moved`: another attempt at this step has committed, and the cursors must be read again. */
type Outcome = 'done' | 'moved';

/** Another attempt has moved the lane. */
class LaneMoved extends Error {
  override readonly name = 'LaneMoved';
}

/**
 * Merges the rest of the pinned file: batch by batch, each batch's rows spread over the lanes, each lane in its own
 * session. A lane takes its parts in the order of the file; lanes wait for the number of batches in flight, but not for
 * each other.
 */
async function loadLanes(
  deps: Dependencies,
  job: ReadableImport,
  header: HeaderReading & { ok: true },
): Promise<Outcome> {
  const cursors = (await listImportLanes(deps.db, job.entityId, job.id)).map(({ nextOffset }) => nextOffset);
  const start = job.nextOffset > 0 ? { offset: job.nextOffset, line: job.nextLine } : header;
  const open = () => deps.files.read(job.file.fileKey, start.offset);
  const rowsOfRecord = header.format.layout?.cells.length ?? 1;
  const batches = readBatches(open, job.fileFormat, start.offset, start.line, deps.batchRecords / rowsOfRecord);
  const lanes = new Lanes(deps, job, cursors, await importRules(deps.db, job, header.format));
  try {
    await lanes.takeAll(batches);
    return 'done';
  } catch (error) {
    if (error instanceof LaneMoved) return 'moved';
    throw error;
  } finally {
    // No work continues after the step's end.
    await lanes.queue.ended();
    await batches.return(undefined); // and closes the file
  }
}

class Lanes {
  readonly #deps: Dependencies;
  readonly #job: ReadableImport;
  /** Cursor of each lane at the beginning: rows before it are done. */
  readonly #done: readonly number[];
  /** Current cursor of each lane. */
  readonly #cursors: number[];
  readonly queue: LaneQueue;
  readonly #noteWait: NoteWait;
  readonly #overtaken: OvertakenLines;
  #rules: ImportRules;
  #isFirst = true;

  constructor(deps: Dependencies, job: ReadableImport, cursors: readonly number[], rules: ImportRules) {
    this.#deps = deps;
    this.#job = job;
    this.#done = cursors;
    this.#cursors = [...cursors];
    this.queue = new LaneQueue(cursors.length);
    this.#noteWait = noteWaitOf(deps, 'import', { ...job, jobId: job.id });
    this.#overtaken = new OvertakenLines(deps, job);
    this.#rules = rules;
  }

  async takeAll(batches: AsyncGenerator<Batch>): Promise<void> {
    while (await this.#begin(batches)) {
      await this.queue.free();
      stopIfAsked(this.#deps);
    }
    await this.queue.done();
  }

  /** Reads and checks the next batch, if any, for the lanes. It keeps its slot until they have merged it. */
  async #begin(batches: AsyncGenerator<Batch>): Promise<boolean> {
    const freeSlot = await takeSlot(this.#deps.takeBatchSlot, this.#job.entityId, this.#noteWait, this.#isFirst);
    this.#isFirst = false;
    let end: Promise<unknown> = Promise.resolve();
    try {
      return await this.#asPart(async () => {
        const { value: batch, done } = await batches.next();
        if (!done) await this.#handOver(batch);
        return !done;
      }).finally(() => {
        ({ end } = this.queue.nextBatch());
      });
    } finally {
      end.then(freeSlot, freeSlot);
    }
  }

  #asPart<T>(work: () => Promise<T>): Promise<T> {
    return inSlot(this.#deps.takePartSlot, this.#job.entityId, work);
  }

  async #handOver(batch: Batch): Promise<void> {
    const rules = { ...this.#rules, overtaken: await this.#overtaken.in(batch.offsets, this.#rules) };
    for await (const parts of checkBatch(this.#deps, this.#job, batch, this.#done, rules)) {
      for (const part of parts) this.queue.add(part.lane, () => this.#merge(part));
    }
  }

  async #merge(part: LanePart): Promise<void> {
    if (part.offsets.nextOffset <= this.#cursors[part.lane]!) return;
    const rules = await this.#asPart(() => mergePart(this.#deps, this.#job, part, this.#cursors[part.lane]!));
    if (!rules) throw new LaneMoved();
    this.#rules = rules;
    this.#cursors[part.lane] = part.offsets.nextOffset;
  }
}

/** Maximum number of lines that a dry run shows as examples of similar ids. */
const MAX_EXAMPLES = 10;

/** Two minutes are enough for some million ids; for more, the dry run ends without the comparison. */
const COMPARING = `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'`;

/** Compares the ids of a dry run with each other and with those of customers. */
async function compareIds({ db }: Dependencies, job: PinnedImport): Promise<void> {
  await addPendingCustomers(db, job.entityId);
  const signal = Context.current().cancellationSignal;
  try {
    const found = await read(db, (tx) => findSimilarLines(tx, job.entityId, job.id, MAX_EXAMPLES), {
      settings: COMPARING,
      signal,
    });
    await updateSimilarIds(db, job, found);
  } catch (error) {
    if (!isQueryCanceled(error)) throw error;
    await updateSimilarIds(db, job, null);
  }
}

/** Mails how the import ended to the addresses of its System of Records. */
async function mailReport(deps: Dependencies, { entityId, jobId, identifier }: JobClaim): Promise<RetryAfter | null> {
  const job = await findImport(deps.db, entityId, identifier);
  if (!job) return null;
  const mail = await composeReport(deps, job);
  return mailOnce(deps, { table: 'imports', entityId, id: jobId, identifier }, mail, 'import');
}

async function composeReport({ db, publicUrl }: Dependencies, job: Import): Promise<Omit<Mail, 'messageId'>> {
  const { sorIdentifier, to } = await findMailFacts(db, job.entityId, job.sorId);
  const parent = job.parentId === null ? null : await findImportById(db, job.entityId, job.parentId);
  const { subject, text } = importMail({
    sorId: sorIdentifier,
    hasFileError: job.state === 'failed',
    parentId: parent?.identifier ?? null,
    importId: job.identifier,
    jid: job.jid,
    state: job.state === 'finished' ? 'finished' : 'failed',
    dryRun: job.dryRun,
    rows: { read: job.rowsIn, ok: job.rowsOk, ignored: job.rowsIgnored, failed: job.rowsFailed },
    errorsByType: job.errorsByType,
    hasDefect: (job.file?.sourceDefect ?? null) !== null,
    startedAt: (job.startedAt ?? job.receivedAt).toISOString(),
    endedAt: (job.endedAt ?? job.receivedAt).toISOString(),
    link: `${publicUrl}/api/attribute_values/imports/${job.identifier}`,
  });
  return { to, subject, text };
}
