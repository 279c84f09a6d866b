import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { numberText } from '../../domain/json/exact-json.ts';
import { fieldLabel, type LocationWords, locationWords } from '../../domain/gdpr/personal-data-words.ts';

/** Rows that are written at once. */
const ROWS_AT_ONCE = 500;
/** The column of what has names that others chose, as JSON. */
const OTHER_FIELDS = 'other_fields';

type Cell = string | null;
type Table = { name: string; path: string; words: LocationWords; columns: string[]; rows: Cell[][] };

/**
 * The lists of an archive as CSV files in a folder, written as their records come; `fields.csv` says what the columns
 * are.
 */
export class ArchiveTables {
  readonly #folder: string;
  readonly #tables = new Map<string, Table>();
  /** The files once all are written. */
  #ending: Promise<{ name: string; path: string }[]> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(location: string, record: Record<string, unknown>): Promise<void> {
    const table = this.#tables.get(location) ?? this.#open(location);
    table.rows.push(rowOf(table, record));
    if (table.rows.length >= ROWS_AT_ONCE) await flush(table);
  }

  /** Writes what is left, and gives the files. */
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

/** Lists and objects as JSON; null: nothing, which differs from an empty text. */
function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  return numberText(value) ?? JSON.stringify(value);
}
