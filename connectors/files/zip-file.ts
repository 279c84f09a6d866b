/** Reads zip files. */
import { closeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { Refusal } from '../../domain/core/refusal.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** A workbook has a few files for each sheet. Their names and descriptions in the zip file have at most this size. */
const MAX_ENTRIES = 10_000;
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** The files in a zip file, by name. */
export type OpenZip = {
  entries: ReadonlyMap<string, Entry>;
  /** Finds a file by its name, ignoring case: files of Office differ. */
  find(name: string): Entry | undefined;
  /** Refuses an entry whose checksum is wrong, before any of it is handed on. */
  verify(entry: Entry): Promise<void>;
  /** Yields an entry's content; all reads of one zip file together have at most the size that it was opened with. */
  read(entry: Entry): AsyncGenerator<Buffer, void, undefined>;
  close(): void;
};

/** Opens a zip file by its descriptor, which `close` closes; a refused file is closed here. */
export async function openZip(
  fd: number,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<OpenZip> {
  const zip = await fromFdPromise(fd, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    closeSync(fd);
    throw isOfSystem(error) ? error : sourceRefusal('transfer_broken', 'The zip file is cut off: its end is missing');
  });
  try {
    const entries = await listEntries(zip);
    const inSmallLetters = new Map(Array.from(entries.values(), (entry) => [entry.fileName.toLowerCase(), entry]));
    let bytes = 0;
    return {
      entries,
      find: (name) => entries.get(name) ?? inSmallLetters.get(name.toLowerCase()),
      close: () => zip.close(),
      async verify(entry) {
        if (entry.uncompressedSize > maxBytes) throw tooLarge(maxBytes);
        for await (const chunk of chunksOf(zip, entry, signal)) void chunk;
      },
      async *read(entry) {
        bytes += entry.uncompressedSize; // it has no more content, or reading it fails
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        yield* chunksOf(zip, entry, signal);
      },
    };
  } catch (error) {
    zip.close();
    throw corruptOr(error);
  }
}

/** Throws at the end if the checksum is wrong. */
async function* chunksOf(zip: ZipFile, entry: Entry, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  if (entry.isEncrypted())
    throw sourceRefusal('source_refused', 'The zip file is protected by a password: send it without one');
  let checksum = 0;
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      signal.throwIfAborted();
      checksum = crc32(chunk as Buffer, checksum);
      yield chunk as Buffer;
    }
  } catch (error) {
    throw signal.aborted ? error : corruptOr(error);
  }
  if (checksum !== entry.crc32) throw corrupt();
}

export function tooLarge(maxBytes: number): Refusal {
  return sourceRefusal(
    'too_large',
    `The file expands to over ${maxBytes.toLocaleString('en')} bytes, the most that is taken: split it`,
  );
}

async function listEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let bytes = 0;
  for await (const entry of zip.eachEntry()) {
    bytes += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (entries.size === MAX_ENTRIES || bytes > MAX_LIST_BYTES) {
      throw sourceRefusal('source_refused', 'The zip file holds too many files: it must hold exactly one');
    }
    entries.set(entry.fileName, entry);
  }
  return entries;
}

function corruptOr(error: unknown): unknown {
  if (error instanceof Refusal || isOfSystem(error)) return error;
  return corrupt();
}

function corrupt(): Refusal {
  return sourceRefusal(
    'source_refused',
    'The file is corrupt: a checksum or a length within it (.zip, .xlsx) is wrong. Have it written anew',
  );
}

function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
