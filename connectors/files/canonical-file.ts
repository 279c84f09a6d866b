/** Reads any file of rows as CSV in UTF-8. */
import { closeSync, write } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Encoding, findDelimiter } from '../../domain/csv/csv-bytes.ts';
import { createTranscoder, encodingOf } from '../../domain/csv/file-encoding.ts';
import { MAX_DECOMPRESSED_BYTES } from '../../domain/core/gunzip.ts';
import {
  isCompoundFile,
  isZip,
  sayForeign,
  type TableFormat,
  type TableSettings,
} from '../../domain/csv/table-format.ts';
import { removeFolder } from '../core/remove-folder.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { openWithoutName } from './shared-strings.ts';
import { isOfficeFile, openSheet } from './xlsx.ts';
import { onlyEntry, type OpenZip, openZip, tooLarge } from './zip-file.ts';

type CanonicalContext = {
  /** A folder for files that cannot be streamed. */
  scratch: string;
  signal: AbortSignal;
  maxBytes?: number | undefined;
};

/** A file as CSV in UTF-8. Read `chunks`, or end them by `return()`. */
export type CanonicalFile = {
  format: TableFormat;
  /** False if `chunks` are the file's own bytes. */
  isConverted: boolean;
  chunks: AsyncGenerator<Buffer, void, undefined>;
};

/** Size of the beginning that is examined. */
const HEAD_BYTES = 64 * 1024;

/**
 * Returns a file as plain UTF-8: UTF-16 and the encoding named by `encoding` are converted, an .xlsx file becomes CSV,
 * and a zip file with one file is opened. Gzip is undone before. Refuses files that it cannot read.
 */
export async function canonicalFile(
  source: AsyncIterable<Buffer>,
  settings: TableSettings,
  context: CanonicalContext,
  isInZip = false,
): Promise<CanonicalFile> {
  const all = source[Symbol.asyncIterator]();
  try {
    const { head, found, encoding, hasSeparatorLine } = await readHead(all, settings);
    const chunks = chunksOf(head, all);
    if (isCompoundFile(head)) {
      throw sourceRefusal(
        'source_refused',
        'The file is of an old Excel (.xls), or protected by a password: save it as .xlsx without a password, or as CSV',
      );
    }
    const foreign = sayForeign(head, settings.encoding);
    if (foreign !== null) throw sourceRefusal('source_refused', foreign);
    if (isZip(head)) return await unpacked(chunks, settings, context, isInZip);
    const format = {
      format: 'csv' as const,
      delimiter: settings.delimiter ?? found,
      encoding,
      sheet: null,
      isZip: isInZip,
    };
    const text = encoding === 'utf-8' ? chunks : bounded(transcoded(chunks, encoding), context);
    if (hasSeparatorLine) return { format, isConverted: true, chunks: withoutFirstLine(text) };
    return { format, isConverted: isInZip || encoding !== 'utf-8', chunks: text };
  } catch (error) {
    await all.return?.();
    throw error;
  }
}

async function readHead(all: AsyncIterator<Buffer>, { encoding: set }: TableSettings) {
  let head: Buffer = Buffer.alloc(0);
  for (let isEnd = false; ; isEnd = head.length >= HEAD_BYTES) {
    const next = isEnd ? null : await all.next();
    if (next !== null && next.done !== true) {
      head = Buffer.concat([head, next.value]);
      if (head.length < 4) continue;
    }
    const encoding = encodingOf(head, set);
    const text = createTranscoder(encoding).push(Buffer.from(head.subarray(0, HEAD_BYTES)));
    const { delimiter, isWhole } = findDelimiter(text);
    if (next === null || next.done === true || isWhole || isZip(head)) {
      return { head, found: delimiter, encoding, hasSeparatorLine: SEPARATOR_LINE.test(text.toString('utf8', 0, 16)) };
    }
  }
}

/** A line that gives Excel the delimiter: no row, but a counted line. */
const SEPARATOR_LINE = /^\ufeff?"?sep=[,;\t|]"?\r?\n/i;

/** Keeps the line end, so that line numbers stay right. */
async function* withoutFirstLine(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let isFirstLine = true;
  for await (const chunk of chunks) {
    const end = isFirstLine ? chunk.indexOf('\n') : 0;
    if (end === -1) continue;
    isFirstLine = false;
    yield chunk.subarray(end);
  }
}

async function* chunksOf(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* transcoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer, void, undefined> {
  const transcoder = createTranscoder(encoding);
  for await (const chunk of chunks) yield transcoder.push(chunk);
  yield transcoder.end();
}

/** Spills a zip file, whose directory is at its end, to disk. Only a descriptor holds it, so a kill leaves nothing. */
async function unpacked(
  chunks: AsyncGenerator<Buffer>,
  settings: TableSettings,
  context: CanonicalContext,
  isInZip: boolean,
): Promise<CanonicalFile> {
  const { signal, maxBytes = MAX_DECOMPRESSED_BYTES } = context;
  const folder = await mkdtemp(join(context.scratch, 'file-'));
  let zip: OpenZip | undefined;
  const clear = async () => {
    zip?.close();
    await removeFolder(folder);
  };
  try {
    zip = await openZip(await spill(bounded(chunks, context), join(folder, 'source')), { maxBytes, signal });
    if (isOfficeFile(zip)) {
      const { sheet, rows } = await openSheet(zip, { sheet: settings.sheet, folder });
      const format = {
        format: 'xlsx' as const,
        delimiter: ',' as const,
        encoding: 'utf-8' as const,
        sheet,
        isZip: isInZip,
      };
      return { format, isConverted: true, chunks: before(clear, bounded(rows, context)) };
    }
    if (isInZip)
      throw sourceRefusal(
        'source_refused',
        'The zip file holds another zip file: it must hold one file of CSV or .xlsx',
      );
    const entry = onlyEntry(zip);
    await zip.verify(entry);
    const inner = await canonicalFile(zip.read(entry), settings, context, true);
    return { ...inner, chunks: before(clear, inner.chunks) };
  } catch (error) {
    await clear();
    throw error;
  }
}

const writeTo = promisify(write);

/** Writes the chunks to disk, and returns the file's descriptor. */
async function spill(chunks: AsyncIterable<Buffer>, path: string): Promise<number> {
  const fd = openWithoutName(path);
  try {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length;) at += (await writeTo(fd, chunk, at)).bytesWritten;
    }
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

async function* bounded(
  chunks: AsyncIterable<Buffer>,
  { signal, maxBytes = MAX_DECOMPRESSED_BYTES }: CanonicalContext,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

async function* before(
  clear: () => Promise<void>,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* chunks;
  } finally {
    await clear();
  }
}
