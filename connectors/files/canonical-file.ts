/** Reads any file of rows as CSV in UTF-8: finds its format, encoding and delimiter, and converts it. */
import { closeSync, write } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Entry } from 'yauzl';
import { MAX_DECOMPRESSED_BYTES } from '../../domain/core/gunzip.ts';
import { CR, type Delimiter, DELIMITERS, type Encoding, encodingOf, LF, QUOTE } from '../../domain/csv/csv-bytes.ts';
import { isCompoundFile, isZip, type TableFormat, type TableSettings } from '../../domain/csv/table-format.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { removeFolder } from '../core/remove-folder.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { openWithoutName } from './shared-strings.ts';
import { openSheet } from './xlsx.ts';
import { type OpenZip, openZip, tooLarge } from './zip-file.ts';

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
    const office = await openSheet(zip, { sheet: settings.sheet, folder });
    if (office) {
      const { sheet, rows } = office;
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

/**
 * Returns the delimiter most frequent outside quotes in the first line with content, the first delimiter if none
 * occurs; `isWhole`: the line has ended.
 */
function findDelimiter(head: Uint8Array): { delimiter: Delimiter; isWhole: boolean } {
  const counts = DELIMITERS.map(() => 0);
  let isQuoted = false;
  let isWhole = false;
  let isEmpty = true;
  for (const byte of head) {
    if (byte === QUOTE) isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (byte === LF && !isEmpty) {
      isWhole = true;
      break;
    }
    if (byte !== LF && byte !== CR) isEmpty = false;
    const at = DELIMITERS.findIndex((delimiter) => delimiter.charCodeAt(0) === byte);
    if (at !== -1) counts[at]! += 1;
  }
  return { delimiter: DELIMITERS[counts.indexOf(Math.max(...counts))]!, isWhole };
}

/** Converts a file to UTF-8 chunk by chunk, without UTF-16's byte order mark; `end` returns the rest. */
type Transcoder = { push(chunk: Buffer): Buffer; end(): Buffer };

function createTranscoder(encoding: Encoding): Transcoder {
  if (encoding === 'utf-8') return { push: (chunk) => chunk, end: () => Buffer.alloc(0) };
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16(encoding === 'utf-16be');
  if (encoding === 'latin-1')
    return { push: (chunk) => Buffer.from(chunk.toString('latin1')), end: () => Buffer.alloc(0) };
  const decoder = new TextDecoder(encoding);
  return {
    push: (chunk) => Buffer.from(decoder.decode(chunk, { stream: true })),
    end: () => Buffer.from(decoder.decode()),
  };
}

/** A byte that UTF-8 never contains: a record with it fails alone as not UTF-8. */
const NO_UTF8 = Buffer.from([0xff]);

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

class Utf16 implements Transcoder {
  readonly #isBigEndian: boolean;
  #isAtStart = true;
  /** The bytes of an incomplete character: part of a unit, or a surrogate whose other half is still to come. */
  #rest = Buffer.alloc(0);

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  push(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let end = bytes.length - (bytes.length % 2);
    const lastUnit = end === 0 ? 0 : this.#isBigEndian ? bytes.readUInt16BE(end - 2) : bytes.readUInt16LE(end - 2);
    if (lastUnit >= 0xd800 && lastUnit < 0xdc00) end -= 2;
    this.#rest = bytes.subarray(end);
    return this.#decode(bytes.subarray(0, end));
  }

  end(): Buffer {
    const { length } = this.#rest;
    return length === 0 ? this.#rest : NO_UTF8;
  }

  #decode(bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes;
    let text = (this.#isBigEndian ? bytes.swap16() : bytes).toString('utf16le');
    if (this.#isAtStart && text.startsWith('\ufeff')) text = text.slice(1);
    this.#isAtStart = false;
    if (text.isWellFormed()) return Buffer.from(text);
    return Buffer.concat(
      text.split(LONE_SURROGATE).flatMap((part, index) => [...(index === 0 ? [] : [NO_UTF8]), Buffer.from(part)]),
    );
  }
}

const FOREIGN: [name: string, mark: number[]][] = [
  ['compressed with bzip2', [0x42, 0x5a, 0x68]],
  ['compressed with xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['compressed with LZMA', [0x5d, 0x00, 0x00]],
  ['compressed with zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['an archive of 7-Zip', [0x37, 0x7a, 0xbc, 0xaf]],
  ['an archive of RAR', [0x52, 0x61, 0x72, 0x21]],
  ['of Parquet', [0x50, 0x41, 0x52, 0x31]],
  ['a PDF', [0x25, 0x50, 0x44, 0x46]],
];

/** Returns why a file is refused that is no table, or whose encoding must be set; null if neither is so. */
function sayForeign(head: Uint8Array, encoding: Encoding | undefined): string | null {
  const foreign = FOREIGN.find(([, mark]) => mark.every((byte, at) => head[at] === byte));
  if (foreign) return `The file is ${foreign[0]}: send it as CSV or .xlsx, which may be in a gzip or zip file`;
  if (encoding !== undefined || head.length < 4) return null;
  // In UTF-16 every second byte of Latin letters is 0.
  const zeros = [0, 1, 2, 3].map((at) => head[at] === 0).join();
  const found = zeros === 'false,true,false,true' ? 'utf-16le' : zeros === 'true,false,true,false' ? 'utf-16be' : null;
  return found && `The file is UTF-16 without a byte order mark: set encoding to ${found}`;
}

/** Returns the only file of a zip file, ignoring what macOS adds. */
function onlyEntry({ entries }: OpenZip): Entry {
  const files = [...entries.values()].filter(
    ({ fileName }) => !/\/$|^__MACOSX\/|(?:^|\/)\.(?:DS_Store$|_)/.test(fileName),
  );
  if (files.length === 1) return files[0]!;
  const names = files
    .slice(0, 3)
    .map(({ fileName }) => quote(fileName))
    .join(', ');
  const found = files.length === 0 ? 'no file' : `${files.length} files (${names}${files.length > 3 ? ', …' : ''})`;
  throw sourceRefusal('source_refused', `The zip file holds ${found}: it must hold exactly one`);
}
