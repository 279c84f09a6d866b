/** Shared strings of a BIFF8 workbook ([MS-XLS] 2.4.265, 2.5.293). Memory holds only a piece of the table. */

const SST = 0x00fc;
const CONTINUE = 0x003c;
/** Maximum size of a record's content ([MS-XLS] 2.1.4). */
const MAX_CONTENT = 8224;
const HEAD = 4;
const COUNTS = 8;

const WIDE = /[\u0100-\uffff]/;

export class StringTable {
  #bytes = Buffer.alloc(256 * 1024);
  #start = 0;
  #end = HEAD + COUNTS;
  #texts = 0;

  constructor() {
    this.#bytes.writeUInt16LE(SST, 0);
  }

  /** Writes the counts into the table's first piece: they are known only at its end. */
  writeCounts(piece: Buffer, uses: number): void {
    piece.writeUInt32LE(uses, HEAD);
    piece.writeUInt32LE(this.#texts, HEAD + 4);
  }

  get size(): number {
    return this.#end;
  }

  add(text: string): number {
    const wide = WIDE.test(text);
    const width = wide ? 2 : 1;
    // The format requires length, kind and first character in one record.
    this.#reserve(3 + (text.length > 0 ? width : 0));
    this.#end = this.#bytes.writeUInt16LE(text.length, this.#end);
    this.#bytes[this.#end++] = wide ? 1 : 0;
    for (let from = 0; from < text.length;) {
      const fitting = Math.floor((MAX_CONTENT - this.#content) / width);
      if (fitting === 0) {
        this.#continue();
        // A record that continues a text repeats its kind.
        this.#bytes[this.#end++] = wide ? 1 : 0;
        continue;
      }
      const part = text.slice(from, from + fitting);
      this.#end += this.#bytes.write(part, this.#end, wide ? 'utf16le' : 'latin1');
      from += part.length;
    }
    this.#texts += 1;
    return this.#texts - 1;
  }

  /** Returns and removes the finished records; with `isLast` the open one as well. */
  take(isLast = false): Buffer {
    const until = isLast ? this.#end : this.#start;
    if (isLast) this.#close();
    const taken = Buffer.from(this.#bytes.subarray(0, until));
    this.#bytes.copyWithin(0, until, this.#end);
    this.#start -= Math.min(until, this.#start);
    this.#end -= until;
    return taken;
  }

  get #content(): number {
    return this.#end - this.#start - HEAD;
  }

  #reserve(size: number): void {
    if (this.#content + size > MAX_CONTENT) this.#continue();
    // The longest text takes 64 KiB and nine record heads.
  }

  #close(): void {
    this.#bytes.writeUInt16LE(this.#content, this.#start + 2);
  }

  #continue(): void {
    this.#close();
    this.#start = this.#end;
    this.#bytes.writeUInt16LE(CONTINUE, this.#start);
    this.#end += HEAD;
  }
}

const MAX_REMEMBERED = 50_000;
const MAX_REMEMBERED_CHARACTERS = 4 * 1024 ** 2;
const MAX_REMEMBERED_LENGTH = 1024;

/** Indexes of recent texts: a repeated text is stored once, a forgotten one again, which the format allows. */
export class RecentTexts {
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  #characters = 0;

  find(text: string): number | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.remember(text, old);
    return old;
  }

  remember(text: string, index: number): void {
    if (text.length > MAX_REMEMBERED_LENGTH) return;
    this.#young.set(text, index);
    this.#characters += text.length;
    if (this.#young.size < MAX_REMEMBERED && this.#characters < MAX_REMEMBERED_CHARACTERS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#characters = 0;
  }
}
