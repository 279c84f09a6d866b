import { pipeline } from 'node:stream/promises';
import { parse, type Parser } from 'csv-parse';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type ExportColumnKind, exportColumnKinds } from '../../domain/exports/export-columns.ts';
import type { ExportDataType } from '../../domain/exports/export-data-type.ts';

/**
 * A row group ends with the row that reaches one of these: it is held in memory as a whole, and encoded in one go, a
 * quarter of a second in which nothing else runs. An empty field weighs as much as eight characters.
 */
const GROUP_ROWS = 50_000;
const GROUP_WEIGHT = 4 * 1024 ** 2;
const FIELD_WEIGHT = 8;

type Value = string | number | bigint | boolean | string[] | null;
/** By COPY's CSV: nothing is null, nothing between quotes an empty text. */
type Fields = (string | null)[];

const UTC_MILLISECONDS = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;

const STRING = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/** The schema below a list of strings (Parquet format, Logical types: Lists). */
const LIST_OF_STRINGS: SchemaElement[] = [
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'REQUIRED', ...STRING },
];

type Kind = { element: Omit<SchemaElement, 'name'>; below?: SchemaElement[]; read: (text: string) => Value };

/** How each kind of column stands in a file, and how its text is read. */
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

/** Makes a Parquet file, compressed by Snappy, of a type's rows as CSV without a header; row group by row group. */
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

/** Returns what the row weighs. */
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
  // The parser throws where the records are taken.
  pipeline(csv, parser).catch(() => {});
  return parser as AsyncIterable<Fields>;
}
