/** Shared strings of an Excel file, on disk. */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** Number of texts that are read back at once. */
const BLOCK = 64;
const WRITE_BYTES = 256 * 1024;
/** Size of texts up to which used blocks are kept; they then stay until the next ones reach it. */
const CACHE_BYTES = 8 * 1024 * 1024;

/** Bytes of a block's position. */
const PLACE_BYTES = 8;

type Block = { texts: string[]; bytes: number };

/** Opens a new file and removes its name, so that its content ends with the process. */
export function openWithoutName(path: string): number {
  const fd = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return fd;
}

/** A file without a name, written at its end and read anywhere. */
class ScratchFile {
  readonly #fd: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Includes what is not written yet. */
  bytes = 0;

  constructor(path: string) {
    this.#fd = openWithoutName(path);
  }

  add(bytes: Buffer): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.bytes += bytes.length;
  }

  /** Writes what was added, once it is enough or all. */
  flush(isAll: boolean): void {
    if (this.#pendingBytes === 0 || (!isAll && this.#pendingBytes < WRITE_BYTES)) return;
    const bytes = Buffer.concat(this.#pending);
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  /** Reads at most what is written. */
  read(start: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length;) {
      const read = readSync(this.#fd, bytes, at, length - at, start + at);
      if (read === 0) throw new Error('the file of shared strings is shorter than it was');
      at += read;
    }
    return bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Texts by number, on disk: an Excel file may have more of them than fit in memory. */
export class SharedStrings {
  readonly #texts: ScratchFile;
  /** Start of each block in the texts. */
  readonly #places: ScratchFile;
  #recent = new Map<number, Block>();
  #recentBytes = 0;
  #older = new Map<number, Block>();
  #count = 0;

  constructor(path: string) {
    this.#texts = new ScratchFile(path);
    this.#places = new ScratchFile(`${path}.places`);
  }

  add(text: string): void {
    if (this.#count % BLOCK === 0) {
      const place = Buffer.alloc(PLACE_BYTES);
      place.writeDoubleLE(this.#texts.bytes);
      this.#places.add(place);
    }
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    this.#texts.add(length);
    this.#texts.add(bytes);
    this.#count += 1;
  }

  flush(isAll: boolean): void {
    this.#texts.flush(isAll);
    this.#places.flush(isAll);
  }

  /** Returns undefined if there is none. Call `flush` before. */
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
    const [start, end] = [this.#placeOf(number), this.#placeOf(number + 1)];
    const bytes = this.#texts.read(start, end - start);
    const texts: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const textEnd = at + 4 + bytes.readUInt32LE(at);
      texts.push(bytes.toString('utf8', at + 4, textEnd));
      at = textEnd;
    }
    return { texts, bytes: bytes.length };
  }

  /** Returns the start of a block; for the one after the last, the end of the texts. */
  #placeOf(number: number): number {
    const at = number * PLACE_BYTES;
    return at < this.#places.bytes ? this.#places.read(at, PLACE_BYTES).readDoubleLE() : this.#texts.bytes;
  }

  close(): void {
    this.#texts.close();
    this.#places.close();
  }
}
