/** Bytes that have a meaning in CSV; none of them occurs inside a longer UTF-8 sequence. */
export const LF = 0x0a;
export const CR = 0x0d;
export const QUOTE = 0x22;
export const COMMA = 0x2c;

/** Separators of fields, beside the comma of RFC 4180. */
export const DELIMITERS = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** Encodings of files. The last two are used only if they are set, because they accept any bytes. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'latin-1'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Returns the delimiter of a file that begins with these bytes: the one that occurs most often outside quotes in the
 * first line that is not empty; by default the comma. `isWhole`: that line has ended.
 */
export function findDelimiter(head: Uint8Array): { delimiter: Delimiter; isWhole: boolean } {
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

/** Returns the index in [from, to) of the first LF, or of a quote that opens a field; `to` if there is none. */
export function findPlainEnd(
  bytes: Uint8Array,
  from: number,
  to: number,
  recordStart: number,
  delimiter: number,
): number {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]!;
    if (byte > QUOTE) continue; // nearly always: one comparison a byte
    if (byte === LF) return at;
    if (byte === QUOTE && (at === recordStart || bytes[at - 1] === delimiter)) return at;
  }
  return to;
}

/** Returns the index in [from, to) of the first LF or quote; `to` if there is none. */
export function findQuotedEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]!;
    if (byte <= QUOTE && (byte === QUOTE || byte === LF)) return at;
  }
  return to;
}

/** Returns the index in [from, to) of the first quote; `to` if there is none. */
export function findQuote(bytes: Uint8Array, from: number, to: number): number {
  const found = bytes.subarray(0, to).indexOf(QUOTE, from);
  return found === -1 ? to : found;
}

export function countLineEnds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === LF) count += 1;
  return count;
}
