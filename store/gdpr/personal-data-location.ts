/** A location of personal data: what it says of itself, and how people are counted, shown and erased there. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { Database, Queryable } from '../core/database.ts';
import type { Files } from '../core/files.ts';
import type { Tally } from '../core/in-batches.ts';
import type { Scratch } from '../core/scratch.ts';
import type { Secrets } from '../core/secrets.ts';
import type { Tables } from '../schema.ts';

/**
 * An id of a person; locations get all ids of all people. Rows with typed ids match that type only, free texts the ids
 * that are vouched for (`isVouchedFor`). `whole_device`, beside the `device_id`: a device asks for all that it sent.
 * `isClaimed`: a user id that rests on an SDK's word alone.
 */
export type KnownBy = {
  customerType: CustomerType | 'push_token' | 'whole_device';
  customerId: string;
  isClaimed?: boolean;
};

export type LocationDependencies = {
  db: Database;
  files: Files;
  /** The area of mails that no server took. */
  outbox: Files;
  log?: { warn(fields: object, message: string): void };
  scratch: Pick<Scratch, 'list' | 'removeGone'>;
  secrets: Secrets;
  tally?: Tally;
  /** The erasure that asks. Without it a location counts everything. */
  erasure?: Erasure;
  /** Later texts, push tokens and feeds are not counted: they leave these people out (`findErasedTexts`). */
  writtenBefore?: Date | null;
  /** A point at which a test may end the process. */
  boundary?: (name: string) => void;
};

/** The tables that files are built from. A person in none of them is in a file only by others' words. */
export const TABLES_OF_FILES = [
  'attribute_values',
  'customers',
  'sessions',
  'events',
  'locations',
  'segment_members',
  'devices',
  'device_users',
  'user_aliases',
  'crashes',
  'send_messages',
  'attempts',
];

export type Erasure = {
  round: string;
  /** This round has erased something in a table that files are built from. */
  wasInTables: boolean;
  /** When these tables had been erased: files that were begun later hold nothing that these people had there. */
  filesBefore: Date;
};

/** A table, or an area of the file store, that may hold something about a customer. */
export type PersonalDataLocation = {
  /** A table's name, or a file area's with its `/`. */
  name: string;
  /** The columns that may tell something about the person. */
  columns: string[];
  /** The other columns of the table. */
  otherColumns: string[];
  /** Its files are built from TABLES_OF_FILES, so it needs to know about the erasure. */
  isBuiltFromTables?: boolean;
  /** Possible contents, in Markdown, for the documentation (docs/privacy.md). */
  holds: string;
  /** How a person is found there, in the same way. */
  foundBy: string;
  /** Effect of erasure, in the same way. */
  erasedBy: string;
  /** How long Millrace keeps it, in the same way. */
  keptFor: string;
  /** Counts rows or files that tell something about any of these people (`listSurvivors`). */
  count(deps: LocationDependencies, entityId: number, people: KnownBy[]): Promise<number>;
  /** Yields what an archive shows of them, one record a row. */
  export(deps: LocationDependencies, entityId: number, people: KnownBy[]): AsyncIterable<Record<string, unknown>>;
  /** Erases it in bounded batches (`eraseLocation`), and returns how many rows or files changed. Null: names no one. */
  erase: ((deps: LocationDependencies, entityId: number, people: KnownBy[]) => Promise<number>) | null;
};

/** A location as its feature describes it. `columns` and `otherColumns` are lists as in SQL. */
export type DescribedLocation = Omit<
  PersonalDataLocation,
  'columns' | 'otherColumns' | 'count' | 'export' | 'erase'
> & { columns: string; otherColumns: string };

type Camel<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;
type Trimmed<S extends string> = S extends `${' ' | '\n'}${infer Rest}` ? Trimmed<Rest> : S;
type Listed<S extends string, Seen = never> = S extends `${infer A},${infer Rest}`
  ? Listed<Rest, Seen | Camel<Trimmed<A>>>
  : Seen | Camel<Trimmed<S>>;
type Checked<S, Table> = S extends string
  ? Table extends keyof Tables
    ? string extends Listed<S>
      ? S
      : Exclude<Listed<S>, keyof Tables[Table]> extends infer Wrong
        ? [Wrong] extends [never]
          ? S
          : ['no column', Wrong]
        : never
    : S
  : S;

/** A compile error if a list names a column that its table does not have. A list that is no literal is not checked. */
export type ColumnsOfItsTable<D extends { name: string; columns?: string; otherColumns: string }> = {
  columns?: Checked<D['columns'], D['name']>;
  otherColumns: Checked<D['otherColumns'], D['name']>;
};

export function withColumns<const D extends DescribedLocation>(
  described: D & ColumnsOfItsTable<D>,
): Omit<PersonalDataLocation, 'count' | 'export' | 'erase'>;
export function withColumns({ columns, otherColumns, ...described }: DescribedLocation) {
  return { ...described, columns: columns.split(/,\s+/), otherColumns: otherColumns.split(/,\s+/) };
}

export type ErasingLocation = PersonalDataLocation & { erase: NonNullable<PersonalDataLocation['erase']> };

export const BATCH = 5_000;

export async function countRows(db: Queryable, from: string, parameters: unknown[]): Promise<number> {
  const { rows } = await db.query<{ rows: number }>(`SELECT count(*) AS rows FROM ${from}`, parameters);
  return rows[0]!.rows;
}
