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

const MARKS: [Encoding, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** Returns the encoding of the byte order mark, else `set`. `head` has at least 3 bytes. */
export function encodingOf(head: Uint8Array, set: Encoding | undefined): Encoding {
  const found = MARKS.find(([, mark]) => mark.every((byte, at) => head[at] === byte));
  return found?.[0] ?? set ?? 'utf-8';
}
