import { createHash } from 'node:crypto';
import { constants, gunzipSync, inflateSync } from 'node:zlib';
import PostalMime from 'postal-mime';
import { readZip } from './zip-entries.ts';

/** What some bytes say when they are read in a certain way; `through` names the ways, the outermost first. */
type Reading = { bytes: Buffer; through: readonly string[]; isLeaf: boolean };
type Decoded = Buffer | string | { leaf: Buffer };
type Decoder = (text: string, bytes: Buffer) => Decoded[] | Promise<Decoded[]>;

/** So many encodings may lie around each other; of those that escape single characters of a text so many in a row. */
const DEPTH = 5;
const ESCAPES_IN_A_ROW = 3;
/** Of what an encoding hides at most: what is more is an attack on the reader, and no test's. */
const MAX_BYTES = 256 * 1024 ** 2;

/**
 * The bytes themselves, and all that they turn into when each of the encodings that Millrace writes, or is sent, is
 * undone: nested in any order. Texts are told as Latin-1 has them, so that nothing is lost of bytes that are none.
 */
export async function* readings(bytes: Buffer): AsyncGenerator<Pick<Reading, 'bytes' | 'through'>> {
  const seen = new Set<string>();
  // The less is undone the earlier: what is seen again lies deeper.
  const left: Reading[] = [{ bytes, through: [], isLeaf: false }];
  for (let reading = left.shift(); reading; reading = left.shift()) {
    const digest = createHash('sha1').update(reading.bytes).digest('base64');
    if (seen.has(digest)) continue;
    seen.add(digest);
    yield reading;
    if (!reading.isLeaf && reading.through.length < DEPTH && isReadable(reading.bytes))
      left.push(...(await within(reading)));
  }
}

async function within({ bytes, through }: Reading): Promise<Reading[]> {
  const text = bytes.toString('latin1');
  const inner: Reading[] = [];
  const last = through.slice(-ESCAPES_IN_A_ROW);
  const isEscapedEnough = last.length === ESCAPES_IN_A_ROW && last.every((name) => name in ESCAPING);
  for (const [name, decode] of Object.entries({ ...PACKING, ...(isEscapedEnough ? {} : ESCAPING) })) {
    for (const decoded of await decode(text, bytes)) inner.push({ ...toReading(decoded), through: [...through, name] });
  }
  return inner.filter((reading) => reading.bytes.length > 0);
}

function toReading(decoded: Decoded): Pick<Reading, 'bytes' | 'isLeaf'> {
  if (typeof decoded === 'string') return { bytes: Buffer.from(decoded, 'latin1'), isLeaf: false };
  return Buffer.isBuffer(decoded) ? { bytes: decoded, isLeaf: false } : { bytes: decoded.leaf, isLeaf: true };
}

const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const ZIP = Buffer.from('PK\u0003\u0004');
const UTF16 = /(?:[\x20-\x7e]\0){3}|(?:\0[\x20-\x7e]){3}/;
/** Of what is decoded on suspicion: less of it than this being printable, it was not meant. */
const PRINTABLE = 0.7;

/** Whether anything may be encoded in it: bytes that base64 gives for any word are neither text nor of a known kind. */
function isReadable(bytes: Buffer): boolean {
  if (isPacked(bytes)) return true;
  if (UTF16.test(bytes.toString('latin1'))) return true;
  let printable = 0;
  for (const byte of bytes)
    if ((byte >= 0x20 && byte !== 0x7f && byte < 0xf5) || byte === 9 || byte === 10 || byte === 13) printable += 1;
  return printable >= bytes.length * PRINTABLE;
}

const isPacked = (bytes: Buffer) => bytes.includes(GZIP) || bytes.includes(ZIP) || isZlib(bytes);
const isZlib = (bytes: Buffer) => bytes[0] === 0x78 && [0x01, 0x5e, 0x9c, 0xda].includes(bytes[1]!);

/** What makes other bytes of all of them. */
const PACKING: Record<string, Decoder> = {
  gzip: (_text, bytes) => at(bytes, GZIP).flatMap((start) => unpacked(() => gunzipSync(bytes.subarray(start), UNPACK))),
  zlib: (_text, bytes) => (isZlib(bytes) ? unpacked(() => inflateSync(bytes, UNPACK)) : []),
  zip: async (_text, bytes) => (bytes.includes(ZIP) ? partsOfZip(bytes.subarray(bytes.indexOf(ZIP))) : []),
  mime: (text, bytes) => (/^(?:content-type|mime-version|subject):/im.test(text) ? partsOfMail(bytes) : []),
  hex: (text) => together(runs(text, /[\da-f]{16,}/gi), 'hex', 2),
  base64: (text) => together(base64Runs(text), 'base64', 4),
  utf16: (text, bytes) => (UTF16.test(text) ? [0, 1].flatMap((skip) => utf16(bytes.subarray(skip))) : []),
};

/** What writes single characters of a text otherwise. */
const ESCAPING: Record<string, Decoder> = {
  percent: (text) =>
    /%[\da-f]{2}/i.test(text) ? plusAndBlank(text).map((said) => bytesOf(said, /%([\da-f]{2})/gi)) : [],
  'quoted-printable': (text) =>
    /=(?:[\da-f]{2}|\r?\n)/i.test(text) ? [bytesOf(text.replaceAll(/=[ \t]*\r?\n/g, ''), /=([\da-f]{2})/gi)] : [],
  json: (text) => (text.includes('\\') ? [unescaped(text)] : []),
  csv: (text) => (text.includes('""') ? [text.replaceAll('""', '"')] : []),
  entities: (text) => (/&#?\w+;/.test(text) ? [withoutEntities(text)] : []),
};

/**
 * Runs of digits decoded, from each of the first `starts`, as others may stand right before them. Most of what looks
 * like it was never encoded: what comes of all of them is looked at together, and what may be something is gone into.
 */
function together(encoded: readonly string[], encoding: 'hex' | 'base64', starts: number): Decoded[] {
  const pieces = encoded.flatMap((run) =>
    Array.from({ length: starts }, (_, skip) => Buffer.from(run.slice(skip), encoding)),
  );
  const joined = (some: Buffer[]) => Buffer.concat(some.flatMap((piece) => [piece, Buffer.from('\n')]));
  const others = pieces.filter((piece) => !isPacked(piece));
  return [...pieces.filter(isPacked), joined(others.filter(isReadable)), { leaf: joined(others) }];
}

const UNPACK = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_BYTES };

/** Where it stands, each time. */
function at(bytes: Buffer, what: Buffer): number[] {
  const starts: number[] = [];
  for (let start = bytes.indexOf(what); start >= 0; start = bytes.indexOf(what, start + 1)) starts.push(start);
  return starts;
}

function unpacked(unpack: () => Buffer): Buffer[] {
  try {
    return [unpack()];
  } catch {
    return []; // its first bytes were another's by chance
  }
}

/** Names, comments and contents. */
async function partsOfZip(bytes: Buffer): Promise<Buffer[]> {
  const zip = await readZip(bytes).catch(() => null);
  if (!zip) return [];
  const texts = [zip.comment, ...zip.entries.flatMap(({ name, comment }) => [name, comment])];
  return [...texts.map((text) => Buffer.from(text)), ...zip.entries.map(({ content }) => content)];
}

/** All that a mail says: its headers, decoded, and each of its parts. */
async function partsOfMail(bytes: Buffer): Promise<Buffer[]> {
  const mail = await PostalMime.parse(bytes, { attachmentEncoding: 'arraybuffer' }).catch(() => null);
  if (!mail) return [];
  const { attachments, ...told } = mail;
  return [
    ...[told.text ?? '', told.html ?? '', JSON.stringify(told)].map((text) => Buffer.from(text)),
    ...attachments.map(({ content }) =>
      typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer),
    ),
    ...attachments.map(({ filename }) => Buffer.from(filename ?? '')),
  ];
}

/** With the bytes that it names by two hexadecimal digits. */
function bytesOf(text: string, named: RegExp): string {
  return text.replaceAll(named, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}

/** A form says + for a blank, a path does not. */
const plusAndBlank = (text: string) => (text.includes('+') ? [text, text.replaceAll('+', ' ')] : [text]);

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** Of JSON and of whatever else escapes by a backslash. */
function unescaped(text: string): string {
  const units = (run: string) =>
    run
      .slice(2)
      .split(/\\u/i)
      .map((digits) => parseInt(digits, 16));
  return text
    .replaceAll(/(?:\\u[\da-f]{4})+/gi, (run) => Buffer.from(String.fromCharCode(...units(run))).toString('latin1'))
    .replaceAll(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  return text.replaceAll(
    /&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name] ?? whole;
      const point = hex === undefined ? Number(decimal) : parseInt(hex, 16);
      return point > 0x10ffff ? whole : Buffer.from(String.fromCodePoint(point)).toString('latin1');
    },
  );
}

const runs = (text: string, of: RegExp) => text.match(of) ?? [];

/** What names nobody is shorter. Lines of a mail are one run. */
function base64Runs(text: string): string[] {
  const inLines = runs(text, /[A-Za-z0-9+/]{60,}(?:\r?\n[A-Za-z0-9+/]+)+={0,2}/g);
  return [...runs(text, /[A-Za-z0-9+/_-]{8,}={0,2}/g), ...inLines.map((run) => run.replaceAll(/\r?\n/g, ''))];
}

function utf16(bytes: Buffer): Buffer[] {
  const even = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
  return [even.toString('utf16le'), even.swap16().toString('utf16le')].map((text) => Buffer.from(text));
}
