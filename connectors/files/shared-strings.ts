import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** So many texts are read back at once; the place of each such block is kept in memory. */
const BLOCK = 64;
const WRITE_BYTES = 256 * 1024;
/** Blocks that were read are kept up to so many bytes of texts. */
const CACHE_BYTES = 16 * 1024 * 1024;

type Block = { texts: string[]; bytes: number };

/** Opens a new file and takes its name away, so that what is in it ends with the process, however that ends. */
export function openWithoutName(path: string): number {
  const fd = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return fd;
}

/** Texts by their numbers, on disk: an Excel file may have more of them than there is memory. */
export class SharedStrings {
  readonly #fd: number;
  /** Where each block begins in the file. */
  readonly #blocks: number[] = [];
  readonly #cache = new Map<number, Block>();
  #cachedBytes = 0;
  #count = 0;
  #bytes = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(path: string) {
    this.#fd = openWithoutName(path);
  }

  add(text: string): void {
    if (this.#count % BLOCK === 0) this.#blocks.push(this.#bytes);
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    this.#pending.push(length, bytes);
    this.#pendingBytes += 4 + bytes.length;
    this.#bytes += 4 + bytes.length;
    this.#count += 1;
  }

  /** Writes what was added, once it is much or all. */
  flush(isAll: boolean): void {
    if (this.#pendingBytes === 0 || (!isAll && this.#pendingBytes < WRITE_BYTES)) return;
    const bytes = Buffer.concat(this.#pending);
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  /** Undefined where there is none. All must have been flushed. */
  get(index: number): string | undefined {
    if (!(index >= 0 && index < this.#count)) return undefined;
    return this.#block(Math.floor(index / BLOCK)).texts[index % BLOCK];
  }

  /** Those that were used last are kept. */
  #block(number: number): Block {
    const block = this.#cache.get(number) ?? this.#read(number);
    this.#cache.delete(number);
    this.#cache.set(number, block);
    for (const [oldest, { bytes }] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES || oldest === number) break;
      this.#cache.delete(oldest);
      this.#cachedBytes -= bytes;
    }
    return block;
  }

  #read(number: number): Block {
    const start = this.#blocks[number]!;
    const bytes = Buffer.alloc((this.#blocks[number + 1] ?? this.#bytes) - start);
    for (let at = 0; at < bytes.length;) {
      const read = readSync(this.#fd, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new Error('the file of shared strings is shorter than it was');
      at += read;
    }
    const texts: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 4 + bytes.readUInt32LE(at);
      texts.push(bytes.toString('utf8', at + 4, end));
      at = end;
    }
    this.#cachedBytes += bytes.length;
    return { texts, bytes: bytes.length };
  }

  close(): void {
    closeSync(this.#fd);
  }
}
