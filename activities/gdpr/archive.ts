/** The ZIP file of a person's archive: a page, `data.json` and CSV tables, written while the data is read. */
import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { ZipFile } from 'yazl';
import { numberText } from '../../domain/json/exact-json.ts';
import { type ArchiveHead, archivePage, type PageSection } from '../../domain/gdpr/archive-page.ts';
import { archiveRecord, type ShownWith } from '../../domain/gdpr/archive-record.ts';
import { fieldLabel, locationWords, type LocationWords } from '../../domain/gdpr/personal-data-words.ts';
import type { Files } from '../../store/core/files.ts';

export type Archived = {
  bytes: number;
  sha256: Buffer;
  shown: Record<string, number>;
  /** The other users whose records it has. */
  others: string[];
};

const README = `What is in this archive

index.html  to read: open it in any browser, or print it. It says in words what is stored. Of very long lists it has the beginning.
data.json   for programs: all of it, as one JSON object. "data" has a list for each location where something is stored, "counts" how
            long each of them is. Dates are ISO 8601 in UTC; numbers are written with all of their digits.
csv/        the same lists, each as a table: CSV in UTF-8, with a line of column names. fields.csv says what the columns are. Lists
            within a cell are JSON. Values stand as they are stored: import them as text, since a spreadsheet takes some for formulas.

It holds personal data: keep it where no one else can read it, and delete it when it is no longer needed.
`;

/**
 * Puts a person's archive, a ZIP file, into the file store, with few pieces of it in memory, and tables in `folder`.
 * `isWanted` throws if the archive is no longer wanted. When this ends, all writes to the folder have ended.
 */
export async function putArchive(
  files: Files,
  key: string,
  head: ArchiveHead,
  {
    locations,
    shownWith,
    isWanted,
    folder,
  }: { locations: Iterable<ExportedLocation>; shownWith: ShownWith; isWanted: () => Promise<void>; folder: string },
): Promise<Archived> {
  const hash = createHash('sha256');
  const sections: PageSection[] = [];
  const others = new Set<string>();
  const tables = new ArchiveTables(folder);
  const json = archiveJson(head, locations, shownWith, { sections, tables, others });
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const piece of zipped(json, async () => ({
      page: archivePage(head, sections),
      tables: await tables.end(),
    }))) {
      await isWanted();
      hash.update(piece);
      yield piece;
    }
  }
  const bytes = hashed();
  try {
    const { sizeBytes } = await files.put(key, bytes);
    return { bytes: sizeBytes, sha256: hash.digest(), shown: countsOf(sections), others: [...others] };
  } finally {
    await bytes.return(undefined);
    await json.return(undefined);
    await tables.settled();
  }
}

type Rest = { page: string; tables: { name: string; path: string }[] };

/** Page and tables follow the data. A reader that stops early stops the reading of the data. */
async function* zipped(json: AsyncGenerator<string>, rest: () => Promise<Rest>): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const bytes = zip.outputStream as Readable;
  const data = Readable.from(json, { objectMode: false });
  const fail = (error: Error) => bytes.destroy(error);
  for (const source of [zip, data]) source.on('error', fail);
  data.once(
    'end',
    () =>
      void rest()
        .then(({ page, tables }) => {
          zip.addBuffer(Buffer.from(page), 'index.html');
          for (const { name, path } of tables) zip.addFile(path, `csv/${name}`);
          zip.end();
        })
        .catch(fail),
  );
  zip.addBuffer(Buffer.from(README), 'README.txt');
  zip.addReadStream(data, 'data.json');
  try {
    yield* bytes as AsyncIterable<Buffer>;
  } finally {
    data.destroy();
    bytes.destroy();
  }
}

export type ExportedLocation = { name: string; records: AsyncIterable<Record<string, unknown>> };

/** Maximum number of records that the page shows of a location, and of characters of their JSON. */
const SHOWN_RECORDS = 1_000;
const SHOWN_CHARS = 512 * 1024;

const PIECE = 64 * 1024;

/** Yields `data.json`; at its end `sections`, `tables` and `others` (users that the records name) are filled. */
async function* archiveJson(
  head: ArchiveHead,
  locations: Iterable<ExportedLocation>,
  shownWith: ShownWith,
  { sections, tables, others }: { sections: PageSection[]; tables: ArchiveTables; others: Set<string> },
): AsyncGenerator<string> {
  let piece = `${opening(head)},"data":{`;
  for (const { name, records } of locations) {
    const section: PageSection = { location: name, records: [], total: 0 };
    piece += `${sections.length === 0 ? '' : ','}\n${JSON.stringify(name)}:[`;
    sections.push(section);
    let room = SHOWN_CHARS;
    for await (const record of records) {
      const { shown, otherUser } = archiveRecord(locationWords(name), record, shownWith);
      const json = JSON.stringify(shown);
      if (otherUser !== null) others.add(otherUser);
      await tables.add(name, shown);
      piece += `${section.total === 0 ? '' : ','}\n${json}`;
      section.total += 1;
      room -= json.length;
      if (room >= 0 && section.total <= SHOWN_RECORDS) section.records.push(shown);
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
    }
    piece += ']';
  }
  yield `${piece}},"counts":${JSON.stringify(countsOf(sections))}}\n`;
}

function countsOf(sections: PageSection[]): Record<string, number> {
  return Object.fromEntries(sections.map(({ location, total }) => [location, total]));
}

/** Returns the members of the object before the data, without its end. */
function opening({ request, person, company, madeAt, ids, fileRecipients }: ArchiveHead): string {
  const known = ids.map(({ kind, id }) => ({ kind, id }));
  return JSON.stringify({
    version: 1,
    request,
    person,
    made_at: madeAt,
    company,
    known_by: known,
    file_recipients: fileRecipients,
  }).slice(0, -1);
}

const ROWS_AT_ONCE = 500;
/** The column for values with names that others chose, as JSON. */
const OTHER_FIELDS = 'other_fields';

type Cell = string | null;
type Table = { name: string; path: string; words: LocationWords; columns: string[]; rows: Cell[][] };

/** CSV files of an archive in a folder, written while the records are read; `fields.csv` explains the columns. */
class ArchiveTables {
  readonly #folder: string;
  readonly #tables = new Map<string, Table>();
  /** The files, once all are written. */
  #ending: Promise<{ name: string; path: string }[]> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(location: string, record: Record<string, unknown>): Promise<void> {
    const table = this.#tables.get(location) ?? this.#open(location);
    table.rows.push(rowOf(table, record));
    if (table.rows.length >= ROWS_AT_ONCE) await flush(table);
  }

  end(): Promise<{ name: string; path: string }[]> {
    this.#ending = this.#flushAll();
    return this.#ending;
  }

  /** Waits until all writes have ended. Call it after the last `add`. */
  async settled(): Promise<void> {
    await this.#ending?.catch(() => {});
  }

  async #flushAll(): Promise<{ name: string; path: string }[]> {
    const tables = [...this.#tables.values()];
    for (const table of tables) await flush(table);
    const fields = this.#file('fields.csv');
    const meanings = tables.flatMap(({ name, columns, words }) =>
      columns.map((column) => [
        name,
        column,
        column === OTHER_FIELDS ? (words.others ?? 'Further fields') : fieldLabel(words, column),
      ]),
    );
    await flush({ ...fields, rows: [['file', 'column', 'meaning'], ...meanings] });
    return [fields, ...tables].map(({ name, path }) => ({ name, path }));
  }

  #open(location: string): Table {
    const words = locationWords(location);
    const declared = Object.keys(words.fields);
    const columns = words.others !== undefined || declared.length === 0 ? [...declared, OTHER_FIELDS] : declared;
    const table = { ...this.#file(`${location.replaceAll('/', '')}.csv`), words, columns, rows: [columns] };
    this.#tables.set(location, table);
    return table;
  }

  #file(name: string): { name: string; path: string } {
    return { name, path: join(this.#folder, name) };
  }
}

async function flush(table: Pick<Table, 'path' | 'rows'>): Promise<void> {
  const { path, rows } = table;
  table.rows = [];
  if (rows.length > 0) await appendFile(path, stringify(rows, { quoted_match: /^$/ }));
}

function rowOf({ words, columns }: Table, record: Record<string, unknown>): Cell[] {
  const others = Object.entries(record).filter(([name]) => !Object.hasOwn(words.fields, name));
  return columns.map((column) =>
    column === OTHER_FIELDS
      ? others.length === 0
        ? null
        : JSON.stringify(Object.fromEntries(others))
      : cellOf(record[column]),
  );
}

/** Returns a cell: lists and objects as JSON; null leaves it empty without quotes, which differs from an empty text. */
function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  return numberText(value) ?? JSON.stringify(value);
}
