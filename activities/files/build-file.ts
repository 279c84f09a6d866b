/** Steps that build a file for a user: claim the job, write the file, mail the link. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { Refusal } from '../../domain/core/refusal.ts';
import {
  RecentTexts,
  STRING_TABLE_COUNTS_AT,
  StringTable,
  stringTableCounts,
} from '../../domain/files/biff-strings.ts';
import {
  rowBlock,
  ROWS_A_BLOCK,
  sheetHead,
  sheetTail,
  type SheetValue,
  WORKBOOK_END,
  workbookHead,
  workbookSize,
  type WrittenSheet,
} from '../../domain/files/biff8.ts';
import type { Cell } from '../../domain/files/cell.ts';
import { compoundFileHead, compoundFileSize, compoundFileTail } from '../../domain/files/compound-file.ts';
import type { CsvPiece } from '../../domain/files/csv-records.ts';
import type { FileFormat } from '../../domain/files/file-format.ts';
import { fileMail } from '../../domain/files/file-mail.ts';
import {
  refuseLargeFile,
  refuseManyColumns,
  refuseManyRows,
  shownValue,
  XLS_LIMITS,
} from '../../domain/files/sheet-limits.ts';
import { type JobClaim, JobGone, type JobRef } from '../../domain/jobs/job.ts';
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

const PIECE_BYTES = 256 * 1024;

/**
 * Writes a real .xls file (BIFF8): sheets of at most 65,536 rows, each with the columns' names first. A workbook's
 * sizes precede its content, so cells and texts lie in files of `scratchFolder` until the last row, and memory holds a
 * few pieces. Refuses, with the reason, what the format cannot hold.
 */
export async function* writeXls(
  columns: readonly string[],
  batches: AsyncIterable<readonly (readonly Cell[])[]>,
  scratchFolder: string,
): AsyncGenerator<Uint8Array> {
  refuseManyColumns(XLS_LIMITS, columns.length);
  const folder = await mkdtemp(join(scratchFolder, 'xls-'));
  const spools: Spool[] = [];
  try {
    const cells = await Spool.open(join(folder, 'cells'));
    spools.push(cells);
    const texts = await Spool.open(join(folder, 'texts'));
    spools.push(texts);
    const book = new Workbook(columns, cells, texts);
    for await (const rows of batches) {
      for (const row of rows) book.addRow(row);
      if (book.pending > PIECE_BYTES) await book.flush();
    }
    yield* book.end();
  } finally {
    for (const spool of spools) await spool.close();
    // An error here must not hide the writer's own. The process's folder is removed later, with everything in it.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}

/** A file that is written once and then read once. */
class Spool {
  readonly #file: FileHandle;
  size = 0;

  static async open(path: string): Promise<Spool> {
    return new Spool(await open(path, 'wx+', 0o600));
  }

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, from, bytes.length - from, this.size);
      from += bytesWritten;
      this.size += bytesWritten;
    }
  }

  async *read(from: number, until: number): AsyncGenerator<Buffer> {
    for (let at = from; at < until;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(Math.min(PIECE_BYTES, until - at)), {
        position: at,
      });
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Number of a column's texts that were searched among recent ones, and that were found. */
type Repeats = { asked: number; found: number };

/** Texts of a column that are tried first; a column whose texts rarely repeat, such as ids, is not searched further. */
const SAMPLE = 1_000;

type OpenSheet = WrittenSheet & { blockEnds: number[] };

class Workbook {
  readonly #columns: readonly string[];
  readonly #cells: Spool;
  readonly #texts: Spool;
  readonly #table = new StringTable();
  readonly #recent = new RecentTexts();
  readonly #repeats: Repeats[];
  readonly #sheets: OpenSheet[] = [];
  #sheet: OpenSheet;
  #rows: SheetValue[][] = [];
  /** Blocks and texts that are not in their files yet. */
  #blocks: Buffer[] = [];
  #records: Buffer[] = [];
  pending = 0;
  #uses = 0;
  #rowsOfData = 0;

  constructor(columns: readonly string[], cells: Spool, texts: Spool) {
    this.#columns = columns;
    this.#repeats = columns.map(() => ({ asked: 0, found: 0 }));
    this.#cells = cells;
    this.#texts = texts;
    this.#sheet = this.#beginSheet();
  }

  addRow(row: readonly Cell[]): void {
    if (this.#sheet.rows + this.#rows.length === XLS_LIMITS.rowsPerSheet) {
      if (this.#sheets.length === XLS_LIMITS.sheets) refuseManyRows(XLS_LIMITS);
      this.#endBlock();
      this.#sheet = this.#beginSheet();
    }
    this.#rowsOfData += 1;
    this.#addRow(row);
  }

  async flush(): Promise<void> {
    const [blocks, records] = [this.#blocks, this.#records];
    [this.#blocks, this.#records] = [[], []];
    this.pending = 0;
    if (blocks.length > 0) await this.#cells.write(Buffer.concat(blocks));
    if (records.length > 0) await this.#texts.write(Buffer.concat(records));
  }

  async *end(): AsyncGenerator<Uint8Array> {
    this.#endBlock();
    this.#records.push(this.#table.take(true));
    await this.flush();
    const size = workbookSize(this.#sheets, this.#texts.size);
    if (compoundFileSize(size) === null) refuseLargeFile(XLS_LIMITS);
    yield compoundFileHead(size);
    yield workbookHead(this.#sheets, this.#texts.size);
    yield* this.#readTexts();
    yield WORKBOOK_END;
    yield* this.#readSheets();
    yield* compoundFileTail('Workbook', size);
  }

  async *#readTexts(): AsyncGenerator<Buffer> {
    let isFirst = true;
    for await (const piece of this.#texts.read(0, this.#texts.size)) {
      if (isFirst) stringTableCounts(this.#uses, this.#table.texts).copy(piece, STRING_TABLE_COUNTS_AT);
      isFirst = false;
      yield piece;
    }
  }

  async *#readSheets(): AsyncGenerator<Buffer> {
    let position = workbookHead(this.#sheets, this.#texts.size).length + this.#texts.size + WORKBOOK_END.length;
    let cells = 0;
    for (const [at, sheet] of this.#sheets.entries()) {
      const [head, tail] = [sheetHead(sheet, position), sheetTail(at === 0)];
      yield head;
      yield* this.#cells.read(cells, cells + sheet.cells);
      yield tail;
      position += head.length + sheet.cells + tail.length;
      cells += sheet.cells;
    }
  }

  #beginSheet(): OpenSheet {
    const sheet = {
      name: `Sheet${this.#sheets.length + 1}`,
      rows: 0,
      columns: this.#columns.length,
      cells: 0,
      blockEnds: [],
    };
    this.#sheets.push(sheet);
    this.#sheet = sheet;
    this.#addRow(this.#columns);
    return sheet;
  }

  #addRow(row: readonly Cell[]): void {
    this.#rows.push(row.map((cell, at) => this.#valueOf(cell, at)));
    if (this.#rows.length === ROWS_A_BLOCK) this.#endBlock();
  }

  #valueOf(cell: Cell, at: number): SheetValue {
    if (cell === null) return null;
    const value = shownValue(cell, { row: this.#rowsOfData, column: this.#columns[at]!, ending: XLS_LIMITS.ending });
    if (typeof value !== 'string') return value;
    this.#uses += 1;
    return { text: this.#indexOf(value, this.#repeats[at]!) };
  }

  #indexOf(text: string, repeats: Repeats): number {
    if (repeats.asked === SAMPLE && repeats.found < SAMPLE / 10) return this.#addText(text);
    const known = this.#recent.find(text);
    if (repeats.asked < SAMPLE) {
      repeats.asked += 1;
      if (known !== undefined) repeats.found += 1;
    }
    if (known !== undefined) return known;
    const index = this.#addText(text);
    this.#recent.remember(text, index);
    return index;
  }

  #addText(text: string): number {
    const index = this.#table.add(text);
    if (this.#table.size > PIECE_BYTES / 2) {
      const records = this.#table.take();
      this.#records.push(records);
      this.pending += records.length;
    }
    return index;
  }

  #endBlock(): void {
    if (this.#rows.length === 0) return;
    const sheet = this.#sheet;
    const { bytes, end } = rowBlock(sheet.rows, this.#rows, sheet.columns);
    sheet.blockEnds.push(sheet.cells + end);
    sheet.cells += bytes.length;
    sheet.rows += this.#rows.length;
    this.#blocks.push(bytes);
    this.pending += bytes.length;
    this.#rows = [];
  }
}
