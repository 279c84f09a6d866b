/** Bytes that have a meaning in CSV; none of them occurs inside a longer UTF-8 sequence. */
export const LF = 0x0a;
export const CR = 0x0d;
export const QUOTE = 0x22;
export const COMMA = 0x2c;

export const DELIMITERS = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** Encodings of files. The last two are used only if they are set, because they accept any bytes. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'latin-1'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Returns the delimiter most frequent outside quotes in the first line with content, the first delimiter if none
 * occurs; `isWhole`: the line has ended.
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
