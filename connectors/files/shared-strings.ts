import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** So many texts are read back at once; the place of each such block is kept in memory. */
const BLOCK = 64;
const WRITE_BYTES = 256 * 1024;
/** Blocks that were read are kept up to so many bytes of texts. */
const CACHE_BYTES = 16 * 1024 * 1024;

type Block = { texts: string[]; bytes: number };

/** Texts by their numbers, on disk: an Excel file may have more of them than there is memory. */
export class SharedStrings {
  readonly #file: FileHandle;
  /** Where each block begins in the file. */
  readonly #blocks: number[] = [];
  readonly #cache = new Map<number, Block>();
  #cachedBytes = 0;
  #count = 0;
  #bytes = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<SharedStrings> {
    return new SharedStrings(await open(path, 'wx+', 0o600));
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
  async flush(isAll: boolean): Promise<void> {
    if (this.#pendingBytes === 0 || (!isAll && this.#pendingBytes < WRITE_BYTES)) return;
    await this.#file.writeFile(Buffer.concat(this.#pending));
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
      const read = readSync(this.#file.fd, bytes, at, bytes.length - at, start + at);
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

  close(): Promise<void> {
    return this.#file.close();
  }
}
