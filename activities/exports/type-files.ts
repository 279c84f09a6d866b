/** Writes the files of one exported type: compresses, encrypts, uploads, and continues after a crash. */
import { createHash } from 'node:crypto';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { parse, type Parser } from 'csv-parse';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type ExportColumnKind, exportColumnKinds, exportColumns } from '../../domain/exports/export-columns.ts';
import { APPEND_ONLY, type ExportDataType, type ExportFormat } from '../../domain/exports/export-data-type.ts';
import { encryptionStream } from '../../domain/exports/file-encryption.ts';
import { copyOut } from '../../store/core/copy-out.ts';
import {
  type ExportCheckpoint,
  type ExportRecord,
  insertExportFile,
  listExportRecords,
  updateRecordBegun,
  updateRecordDone,
  updateRecordRestarted,
} from '../../store/exports/export-files.ts';
import { updateFaultGone } from '../../store/exports/export-run-progress.ts';
import { holdSnapshot, letSnapshotGo, type ExportSession } from '../../store/exports/export-session.ts';
import {
  countAmbiguousSets,
  countExpected,
  type ExportScope,
  findSnapshot,
  isReadAtOnce,
  type Slice,
  slicesOf,
} from '../../store/exports/export-sources.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { SliceReader, type SlicePiece } from './slice-reader.ts';
import { scopeOf, type SliceSessions } from './source.ts';

/** Writes the rest of a type; all of it anew if an earlier attempt's snapshot is gone. */
export async function writeType(deps: Dependencies, attempt: Attempt, found: ExportRecord): Promise<void> {
  const scope = await scopeOf(deps.db, attempt.run);
  const {
    key: { entityId },
    sessions: [session],
  } = attempt;
  const restarted = () => writeHeld(deps, attempt.key, (tx) => updateRecordRestarted(tx, entityId, found));
  if (isReadAtOnce(found.dataType, scope)) {
    const record = found.expected === null ? found : await restarted();
    await holdSnapshot(session);
    // A snapshot belongs to one session.
    await writeRest(deps, { ...attempt, sessions: [session, session] }, record, scope);
    await letSnapshotGo(session);
  } else {
    await writeRest(deps, attempt, found, scope);
    if (!(await isWhole(deps, attempt, found, scope))) await writeRest(deps, attempt, await restarted(), scope);
  }
  await writeHeld(deps, attempt.key, (tx) => updateRecordDone(tx, entityId, found));
}

/**
 * Rows that never change must be as many as were counted, without those of erased people. Otherwise the table was
 * rewritten while it was read (CLUSTER, VACUUM FULL, a restored dump), and positions in it have changed.
 */
async function isWhole(
  { db }: Dependencies,
  { sessions: [session], key }: Attempt,
  { dataType }: ExportRecord,
  scope: ExportScope,
): Promise<boolean> {
  if (!APPEND_ONLY.has(dataType) || scope.window.kind !== 'received') return true;
  const records = await listExportRecords(db, key.entityId, [key.jobId]);
  const { rows, expected } = records.find((record) => record.dataType === dataType)!;
  return rows >= expected! ? rows === expected : rows >= (await countExpected(session, dataType, scope));
}

/** A file may still be uploading while the next one is read. */
async function writeRest(
  deps: Dependencies,
  attempt: Attempt,
  record: ExportRecord,
  scope: ExportScope,
): Promise<void> {
  await beginType(deps, attempt, record, scope);
  const slices = new SliceReader(
    readSlices(attempt.sessions, record.dataType, scope, record.checkpoint),
    record.checkpoint,
  );
  try {
    await writeFiles(deps, attempt, record, slices);
  } finally {
    slices.close();
  }
}

/** Counts the rows to expect, once in a run: later attempts keep the first one's snapshot and counts. */
async function beginType(
  deps: Dependencies,
  { sessions: [session], key }: Attempt,
  record: ExportRecord,
  scope: ExportScope,
): Promise<void> {
  if (record.expected !== null) return;
  const snapshot = await findSnapshot(session);
  const expected = await countExpected(session, record.dataType, scope);
  const ambiguousSets = await countAmbiguousSets(session, record.dataType, scope);
  await writeHeld(deps, key, (tx) =>
    updateRecordBegun(tx, key.entityId, record, { expected, ambiguousSets, snapshot }),
  );
}

async function writeFiles(
  deps: Dependencies,
  attempt: Attempt,
  record: ExportRecord,
  slices: SliceReader,
): Promise<void> {
  const rules = partRules(attempt, record.dataType);
  let recorded = Promise.resolve();
  let last: Promise<unknown> = recorded;
  try {
    for (let number = record.files + 1; await slices.hasRows(); number += 1) {
      deps.draining.throwIfAborted();
      attempt.scope.throwIfEnding();
      const file = { dataType: record.dataType, part: number, key: fileKey(attempt, record.dataType, number) };
      const part = startPart(slices, rules, (bytes) => attempt.bucket.upload(file.key, bytes), attempt.scope.signal);
      const before = recorded;
      last = part.written;
      recorded = before.then(() => recordFile(deps, attempt, file, part));
      recorded.catch((error: unknown) => attempt.scope.end(error)); // no upload is awaited any more
      await part.read;
      await before;
    }
  } finally {
    await Promise.allSettled([recorded, last]);
  }
  await recorded;
}

type FileName = { dataType: ExportDataType; part: number; key: string };

/** In the order of the files: an attempt continues behind the last recorded one. */
async function recordFile(
  deps: Dependencies,
  { key }: Attempt,
  name: FileName,
  { read, written }: Part,
): Promise<void> {
  const [{ rows, next }, file]: [Awaited<Part['read']>, PartWritten] = await Promise.all([read, written]);
  deps.boundary('export: after a file was uploaded');
  await writeHeld(deps, key, async (tx) => {
    await insertExportFile(tx, key.entityId, key.jobId, { ...name, ...file, rows }, next);
    await updateFaultGone(tx, key);
  });
  deps.boundary('export: after a file was recorded');
}

const ENDINGS: Record<ExportFormat, string> = { csv: 'csv.gz', jsonl: 'jsonl.gz', parquet: 'parquet' };

function fileKey(
  { definition: { folder, format, encryptionType }, key: { attempt } }: Attempt,
  type: ExportDataType,
  part: number,
): string {
  const [generation, number] = [attempt, part].map((of) => String(of).padStart(4, '0'));
  return `${folder}/${generation}/${type}-${number}.${ENDINGS[format]}${encryptionType === null ? '' : '.enc'}`;
}

function partRules({ definition, secrets }: Attempt, type: ExportDataType): PartRules {
  const { format, includeHeaders, partBytes, encryptionType } = definition;
  return {
    header: includeHeaders && format === 'csv' ? Buffer.from(`${exportColumns(type).join(',')}\n`) : null,
    partBytes,
    encode: format === 'parquet' ? (bytes) => parquetOf(type, bytes) : null,
    cipher: encryptionType === null ? null : () => encryptionStream(encryptionType, secrets.encryptionKey!),
  };
}

/**
 * Limits of a row group: it is in memory as a whole, and encoding it blocks the process for a quarter of a second. An
 * empty field counts as eight characters.
 */
const GROUP_ROWS = 50_000;
const GROUP_WEIGHT = 4 * 1024 ** 2;
const FIELD_WEIGHT = 8;

type Value = string | number | bigint | boolean | string[] | null;
/** In COPY's CSV an unquoted empty field is null, a quoted one an empty text. */
type Fields = (string | null)[];

const UTC_MILLISECONDS = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;

const STRING = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/** The schema below a list of strings (Parquet format, Logical types: Lists). */
const LIST_OF_STRINGS: SchemaElement[] = [
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'REQUIRED', ...STRING },
];

type Kind = { element: Omit<SchemaElement, 'name'>; below?: SchemaElement[]; read: (text: string) => Value };

/** Parquet type of each kind of column, and how its text is read. */
const KINDS: Record<ExportColumnKind, Kind> = {
  string: { element: STRING, read: (text) => text },
  boolean: { element: { type: 'BOOLEAN' }, read: (text) => text === 'true' },
  integer: { element: { type: 'INT32' }, read: Number },
  bigint: { element: { type: 'INT64' }, read: BigInt },
  double: { element: { type: 'DOUBLE' }, read: Number },
  timestamp: {
    element: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', logical_type: UTC_MILLISECONDS },
    read: (text) => BigInt(Date.parse(text)),
  },
  strings: {
    element: { converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
    below: LIST_OF_STRINGS,
    read: (text) => JSON.parse(text) as string[],
  },
};

/**
 * Encodes a type's rows (CSV without a header) as a Parquet file, compressed by Snappy, one row group after another.
 */
export async function* parquetOf(type: ExportDataType, csv: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema: schemaOf(type), createdBy: 'millrace' });
  for await (const columnData of rowGroups(type, csv)) {
    await file.write({ columnData, rowGroupSize: GROUP_ROWS });
    yield takeFrom(bytes);
  }
  await file.finish();
  yield takeFrom(bytes);
}

/** Returns the bytes written since the last call; the writer keeps counting from the file's beginning. */
function takeFrom(bytes: ByteWriter): Buffer {
  const taken = Buffer.from(bytes.getBytes());
  bytes.index = 0;
  return taken;
}

function schemaOf(type: ExportDataType): SchemaElement[] {
  const columns = exportColumnKinds(type, 'parquet');
  return [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(([name, kind]): SchemaElement[] => [
      { name, repetition_type: 'OPTIONAL', ...KINDS[kind].element },
      ...(KINDS[kind].below ?? []),
    ]),
  ];
}

type Columns = { name: string; read: (text: string) => Value; data: Value[] }[];

async function* rowGroups(type: ExportDataType, csv: AsyncIterable<Uint8Array>): AsyncGenerator<Columns> {
  const begin = (): Columns =>
    exportColumnKinds(type, 'parquet').map(([name, kind]) => ({ name, read: KINDS[kind].read, data: [] }));
  let columns = begin();
  let rows = 0;
  let weight = 0;
  for await (const fields of records(csv)) {
    weight += addRow(columns, fields);
    rows += 1;
    if (rows < GROUP_ROWS && weight < GROUP_WEIGHT) continue;
    yield columns;
    columns = begin();
    rows = 0;
    weight = 0;
  }
  if (rows > 0) yield columns;
}

/** Adds a row, and returns its weight. */
function addRow(columns: Columns, fields: Fields): number {
  let weight = 0;
  for (const [at, { read, data }] of columns.entries()) {
    const text = fields[at]!;
    data.push(text === null ? null : read(text));
    weight += FIELD_WEIGHT + (text?.length ?? 0);
  }
  return weight;
}

function records(csv: AsyncIterable<Uint8Array>): AsyncIterable<Fields> {
  const parser: Parser = parse({
    record_delimiter: '\n',
    skip_empty_lines: false,
    cast: (text, { quoting }) => (text === '' && !quoting ? null : text),
  });
  // The parser throws as its records are read.
  pipeline(csv, parser).catch(() => {});
  return parser as AsyncIterable<Fields>;
}

/** Number of bytes that are compressed at once: always the same, so the same rows give the same bytes. */
const CHUNK_BYTES = 256 * 1024;

/** Level 1 is what the speed of an export depends on; its content is the same for the same input. */
const GZIP = { level: 1, chunkSize: CHUNK_BYTES, memLevel: 9 };

type PartRules = {
  /** Beginning of each file. */
  header: Buffer | null;
  /** Size before compression at which a file ends, with its current slice. */
  partBytes: number;
  /** Encodes the rows' bytes into a format that is compressed by itself; null: gzip. */
  encode: ((bytes: AsyncIterable<Buffer>) => AsyncIterable<Uint8Array>) | null;
  /** A fresh cipher; null: files are not encrypted. */
  cipher: (() => Transform) | null;
};

/** Number of rows read for a file, and where the next file begins. */
type PartRead = { rows: number; next: ExportCheckpoint };

/** Hashes are hexadecimal; `content` is what decryption gives back. */
type PartWritten = {
  bytes: number;
  sha256: string;
  contentBytes: number;
  contentSha256: string;
  bucketChecksum: string | null;
};

type Upload = (bytes: AsyncIterable<Uint8Array>) => Promise<{ bytes: number; checksum: string | null }>;

/** A file that is being written: the next one may begin once it is read. */
type Part = { read: Promise<PartRead>; written: Promise<PartWritten> };

/** Writes the next file of a type, no further ahead than the slowest of reading, compression and upload. */
function startPart(slices: SliceReader, rules: PartRules, upload: Upload, signal: AbortSignal): Part {
  const { promise: read, resolve, reject } = Promise.withResolvers<PartRead>();
  const written = writePart(readPart(slices, rules, resolve), rules, upload, signal);
  written.catch(reject);
  read.catch(() => {}); // `written` rejects, too
  return { read, written };
}

async function writePart(
  rows: AsyncGenerator<Buffer>,
  { encode, cipher }: PartRules,
  upload: Upload,
  signal: AbortSignal,
): Promise<PartWritten> {
  const content = new Meter();
  const stored = new Meter();
  let uploaded: Awaited<ReturnType<Upload>> | undefined;
  const compressed = encode ? encode(rows) : rows;
  await pipeline(
    [
      compressed,
      ...(encode ? [] : [createGzip(GZIP)]),
      content.measure,
      ...(cipher ? [cipher(), stored.measure] : []),
      async (bytes: AsyncIterable<Uint8Array>) => {
        uploaded = await upload(bytes);
      },
    ] as unknown as [Readable, Transform],
    { signal },
  );
  const { bytes: contentBytes, sha256: contentSha256 } = content.result();
  return {
    ...(cipher ? stored.result() : content.result()),
    contentBytes,
    contentSha256,
    bucketChecksum: uploaded!.checksum,
  };
}

/** Yields header and slices in pieces of one size; reports what was read once all of it is consumed. */
async function* readPart(
  slices: SliceReader,
  { header, partBytes, encode }: PartRules,
  tell: (read: PartRead) => void,
): AsyncGenerator<Buffer> {
  // gzip no longer needs a chunk once it asks for the next.
  const chunker = new Chunker(encode === null);
  if (header) yield* chunker.add(header);
  let rows = 0;
  do {
    const slice = slices.slice();
    let piece = await slice.next();
    for (; !piece.done; piece = await slice.next()) yield* chunker.add(piece.value);
    rows += piece.value;
  } while (chunker.bytes < partBytes && (await slices.hasRows()));
  tell({ rows, next: slices.checkpoint! });
  yield* chunker.rest();
}

/** Cuts bytes into chunks of one size, which share memory if the consumer is done with each before the next. */
class Chunker {
  bytes = 0;
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #filled = 0;
  readonly #isReused: boolean;

  constructor(isReused: boolean) {
    this.#isReused = isReused;
  }

  *add(piece: Buffer): Generator<Buffer> {
    this.bytes += piece.length;
    for (let from = 0; from < piece.length;) {
      const copied = piece.copy(this.#chunk, this.#filled, from);
      from += copied;
      this.#filled += copied;
      if (this.#filled < CHUNK_BYTES) continue;
      yield this.#chunk;
      if (!this.#isReused) this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.#filled = 0;
    }
  }

  *rest(): Generator<Buffer> {
    if (this.#filled > 0) yield this.#chunk.subarray(0, this.#filled);
  }
}

/** Passes bytes on, and counts and hashes them. */
class Meter {
  #bytes = 0;
  readonly #hash = createHash('sha256');

  readonly measure = async function* (this: Meter, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      this.#hash.update(chunk);
      yield chunk;
    }
  }.bind(this);

  result(): { bytes: number; sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.copy().digest('hex') };
  }
}

/** Number of pieces of the next slice that are fetched while this one is consumed. */
const PIECES_AHEAD = 64;

type OpenSlice = { stream: Readable; rows: () => number; next: ExportCheckpoint };

/** Yields the rows of a type as bytes, slice by slice. */
async function* readSlices(
  sessions: SliceSessions,
  type: ExportDataType,
  scope: ExportScope,
  from: ExportCheckpoint | null,
): AsyncGenerator<SlicePiece> {
  const slices = slicesOf(sessions[0], type, scope, from);
  let count = 0;
  const openNext = async (): Promise<OpenSlice | null> => {
    const { value: slice, done } = await slices.next();
    return done ? null : openSlice(sessions[count++ % 2]!, slice);
  };
  let open = await openNext();
  let following: Promise<OpenSlice | null> = Promise.resolve(null);
  try {
    while (open) {
      following = openNext();
      following.catch(() => {}); // the await below throws it
      for await (const bytes of open.stream) yield { bytes: bytes as Buffer };
      yield { rows: open.rows(), next: open.next };
      open = await following;
    }
  } finally {
    following.then(
      (slice) => slice?.stream.destroy(),
      () => {},
    );
  }
}

/** Begins to read at once. */
function openSlice(session: ExportSession, { statement, next }: Slice): OpenSlice {
  const { bytes, rows } = copyOut(session, statement);
  const stream = Readable.from(bytes, { highWaterMark: PIECES_AHEAD });
  stream.on('error', () => {}); // the consumer receives it
  stream.read(0);
  return { stream, rows, next };
}
