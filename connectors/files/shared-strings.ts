import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** So many texts are read back at once; the place of each such block is kept in memory. */
const BLOCK = 64;
const WRITE_BYTES = 256 * 1024;
/** Blocks that were used are kept until they come to so many bytes of texts, and once more until the next do. */
const CACHE_BYTES = 8 * 1024 * 1024;

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
  #recent = new Map<number, Block>();
  #recentBytes = 0;
  #older = new Map<number, Block>();
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

  #block(number: number): Block {
    const recent = this.#recent.get(number);
    if (recent) return recent;
    const block = this.#older.get(number) ?? this.#read(number);
    if (this.#recentBytes > CACHE_BYTES) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#recentBytes = 0;
    }
    this.#recent.set(number, block);
    this.#recentBytes += block.bytes;
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
    return { texts, bytes: bytes.length };
  }

  close(): void {
    closeSync(this.#fd);
  }
}
