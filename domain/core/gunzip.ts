/** Decompresses gzip files (RFC 1952) member by member: Node's Gunzip drops the last output if other bytes follow. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32, createInflateRaw, type InflateRaw, inflateRawSync } from 'node:zlib';

const GIB = 1024 ** 3;
/** Maximum decompressed size of an upload, a fetched file or a sync's file (docs/imports.md, docs/connectors.md). */
export const MAX_DECOMPRESSED_BYTES = 50 * GIB;

/** Compressed bytes given to the decompressor at a time; at most a thousand times as many, 16 MiB, come out. */
const INPUT_BYTES = 16 * 1024;
const OUTPUT_BYTES = 64 * 1024;
/** Maximum size of a member that is decompressed at once: a stream for each would take four times as long. */
const SMALL_BYTES = 1024;
/** Number of members after which the event loop gets a turn, even without output. */
const MEMBERS_A_TURN = 200;

export type GunzipOptions = {
  maxBytes: number;
  signal?: AbortSignal | undefined;
};

/** `corrupt`: the output may be wrong; `trailing_bytes`: it is complete, and other bytes follow. */
export type GzipDefect = 'cut_off' | 'corrupt' | 'trailing_bytes' | 'too_large';

/** Yields everything before a defect, then returns the defect. Reads on demand: a stalled source blocks no reader. */
export async function* gunzip(
  pieces: AsyncIterable<Buffer>,
  { maxBytes, signal }: GunzipOptions,
): AsyncGenerator<Buffer, GzipDefect | null, undefined> {
  const input = new Input(pieces);
  let bytes = 0;
  try {
    for (let members = 0; ; members += 1) {
      const isFirst = members === 0;
      if (members % MEMBERS_A_TURN === MEMBERS_A_TURN - 1) await nextTurn();
      signal?.throwIfAborted();
      const header = await readHeader(input);
      if (header === 'end' && !isFirst) return null;
      if (header === 'other' && !isFirst) return (await hasOnlyZeros(input)) ? null : 'trailing_bytes';
      if (header === 'other') return 'corrupt';
      if (header !== 'member') return 'cut_off';
      const small = await takeSmall(input);
      if (small !== null) {
        bytes += small.length;
        if (bytes > maxBytes) return 'too_large';
        if (small.length > 0) yield small;
        const trailer = await input.take(8);
        if (trailer === null) return 'cut_off';
        if (!isRight(trailer, crc32(small), small.length)) return 'corrupt';
        continue;
      }
      const member = new Member();
      try {
        while (!member.hasEnded) {
          const chunk = await input.chunk();
          const defect = chunk === null ? await member.end() : await member.write(chunk);
          for (const piece of member.out.splice(0)) {
            // The reader may take seconds for these pieces: meanwhile timers, heartbeats and cancellations get a turn.
            await nextTurn();
            signal?.throwIfAborted();
            bytes += piece.length;
            if (bytes > maxBytes) return 'too_large';
            yield piece;
          }
          if (defect) return defect;
          if (chunk !== null) input.unread(member.leftOver(chunk));
        }
        const trailer = await input.take(8);
        if (trailer === null) return 'cut_off';
        if (!member.isRight(trailer)) return 'corrupt';
      } finally {
        member.destroy();
      }
    }
  } finally {
    await input.close();
  }
}

function isRight(trailer: Buffer, checksum: number, length: number): boolean {
  return trailer.readUInt32LE(0) === checksum && trailer.readUInt32LE(4) === length;
}

/** Decompresses a small member that ends within the next input; for any other, returns null and takes nothing. */
async function takeSmall(input: Input): Promise<Buffer | null> {
  const chunk = await input.chunk();
  if (chunk === null) return null;
  try {
    const options = { info: true, chunkSize: SMALL_BYTES, maxOutputLength: SMALL_BYTES };
    const { buffer, engine } = inflateRawSync(chunk, options) as unknown as { buffer: Buffer; engine: InflateRaw };
    input.unread(chunk.subarray(engine.bytesWritten));
    return buffer;
  } catch {
    input.unread(chunk);
    return null;
  }
}

/** Decompresses the deflated part of a member, and checks its trailer. */
class Member {
  readonly out: Buffer[] = [];
  readonly #inflate: InflateRaw;
  #hasEnded = false;
  #checksum = 0;
  #length = 0;
  #written = 0;

  constructor() {
    this.#inflate = createInflateRaw({ chunkSize: OUTPUT_BYTES }).on('data', (piece: Buffer) => {
      this.out.push(piece);
      this.#checksum = crc32(piece, this.#checksum);
      this.#length = (this.#length + piece.length) % 2 ** 32;
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  write(input: Buffer): Promise<GzipDefect | null> {
    this.#written += input.length;
    return this.#settled((done) => {
      this.#inflate.write(input, done);
    });
  }

  /** Ends the source, which is right only if the member ended with its last byte. */
  end(): Promise<GzipDefect | null> {
    return this.#settled(() => {
      this.#inflate.end();
    });
  }

  /** Waits for a write. Node calls no callback for a write that fails, or in which the member ends. */
  #settled(begin: (done: () => void) => void): Promise<GzipDefect | null> {
    return new Promise((resolve) => {
      const settle = (defect: GzipDefect | null) => {
        this.#inflate.off('end', onEnd).off('error', onError);
        resolve(defect);
      };
      const onEnd = () => {
        this.#hasEnded = true;
        settle(null);
      };
      const onError = (error: NodeJS.ErrnoException) => settle(error.code === 'Z_BUF_ERROR' ? 'cut_off' : 'corrupt');
      this.#inflate.once('end', onEnd).once('error', onError);
      begin(() => settle(null));
    });
  }

  leftOver(input: Buffer): Buffer {
    return this.#hasEnded ? input.subarray(input.length - (this.#written - this.#inflate.bytesWritten)) : NOTHING;
  }

  isRight(trailer: Buffer): boolean {
    return isRight(trailer, this.#checksum, this.#length);
  }

  destroy(): void {
    this.#inflate.destroy();
  }
}

const NOTHING = Buffer.alloc(0);

class Input {
  readonly #pieces: AsyncIterator<Buffer>;
  #ready: Buffer = NOTHING;
  #at = 0;

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  async chunk(): Promise<Buffer | null> {
    while (this.left === 0) {
      const { value, done } = await this.#pieces.next();
      if (done) return null;
      [this.#ready, this.#at] = [value, 0];
    }
    return this.#cut(INPUT_BYTES);
  }

  /** Returns exactly `count` bytes; null, and takes nothing, if fewer are left. */
  async take(count: number): Promise<Buffer | null> {
    while (this.left < count) {
      const { value, done } = await this.#pieces.next();
      if (done) return null;
      [this.#ready, this.#at] = [Buffer.concat([this.#ready.subarray(this.#at), value]), 0];
    }
    return this.#cut(count);
  }

  /** Gives back the end of the last read. Otherwise a file of many small members would be copied once for each. */
  unread(bytes: Buffer): void {
    this.#at -= bytes.length;
  }

  get left(): number {
    return this.#ready.length - this.#at;
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  #cut(count: number): Buffer {
    const taken = this.#ready.subarray(this.#at, this.#at + count);
    this.#at += taken.length;
    return taken;
  }
}

const [MAGIC, DEFLATE] = [[0x1f, 0x8b], 8];
/** Bits of the flags (RFC 1952, 2.3.1): optional parts of the header. */
const [HAS_CHECKSUM, HAS_EXTRA, HAS_NAME, HAS_COMMENT] = [2, 4, 8, 16];

/** Reads the header of the next member; `cut_off`: a part of one; `other`: other bytes, which stay. */
async function readHeader(input: Input): Promise<'member' | 'end' | 'cut_off' | 'other'> {
  const head = await input.take(10);
  if (head === null) return startOf(input);
  if (!isHead(head)) {
    input.unread(head);
    return 'other';
  }
  const flags = head[3]!;
  if ((flags & HAS_EXTRA) > 0) {
    const length = await input.take(2);
    if (length === null || (await input.take(length.readUInt16LE(0))) === null) return 'cut_off';
  }
  for (const flag of [HAS_NAME, HAS_COMMENT]) if ((flags & flag) > 0 && !(await passText(input))) return 'cut_off';
  if ((flags & HAS_CHECKSUM) > 0 && (await input.take(2)) === null) return 'cut_off';
  return 'member';
}

/** Classifies fewer bytes than a header has: they may begin one or not. */
async function startOf(input: Input): Promise<'end' | 'cut_off' | 'other'> {
  if (input.left === 0) return 'end';
  const rest = (await input.take(input.left))!;
  input.unread(rest);
  return isHead(rest) ? 'cut_off' : 'other';
}

function isHead(bytes: Buffer): boolean {
  return [...MAGIC, DEFLATE].every((byte, at) => at >= bytes.length || bytes[at] === byte);
}

/** Skips a text that ends with NUL. */
async function passText(input: Input): Promise<boolean> {
  for (let chunk = await input.chunk(); chunk !== null; chunk = await input.chunk()) {
    const end = chunk.indexOf(0);
    if (end === -1) continue;
    input.unread(chunk.subarray(end + 1));
    return true;
  }
  return false;
}

/** Returns whether only zeros follow: tapes and some disks fill the last block of a file with them. */
async function hasOnlyZeros(input: Input): Promise<boolean> {
  for (let chunk = await input.chunk(); chunk !== null; chunk = await input.chunk()) {
    if (chunk.some((byte) => byte !== 0)) return false;
  }
  return true;
}
