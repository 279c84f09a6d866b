// Types of rows from the schema, and rows as records in camel case; for rows by the million, a mapper is faster.
import type { Tables } from '../schema.ts';

/** Columns of a table, as readRows returns them. `Typed` has columns with a narrower type: JSON, codes, never null. */
export type Row<
  Table extends keyof Tables,
  Column extends keyof Tables[Table],
  Typed extends { [C in keyof Typed]: C extends keyof Tables[Table] ? Tables[Table][C] : never } = {},
> = Pick<Tables[Table], Exclude<Column, keyof Typed>> & Typed;

export const columnName = (member: string) => member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelName = (column: string) => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function camelRows<Columns>(rows: object[]): Columns[] {
  const names = Object.keys(rows[0] ?? {}).map((column) => [column, camelName(column)] as const);
  return rows.map((row) => {
    const named: Record<string, unknown> = {};
    for (const [column, name] of names) named[name] = (row as Record<string, unknown>)[column];
    return named as Columns;
  });
}

type Result = { rows: object[] };

/** `convert`: makes the record if it differs from the columns by more than their names. */
export function readRows<T>(result: Result): T[];
export function readRows<Columns, T>(result: Result, convert: (columns: Columns) => T): T[];
export function readRows<Columns, T>({ rows }: Result, convert?: (columns: Columns) => T): (Columns | T)[] {
  const named = camelRows<Columns>(rows);
  return convert ? named.map((row) => convert(row)) : named;
}

export function readRow<T>(result: Result): T | null;
export function readRow<Columns, T>(result: Result, convert: (columns: Columns) => T): T | null;
export function readRow<Columns, T>({ rows: [row] }: Result, convert?: (columns: Columns) => T): Columns | T | null {
  if (!row) return null;
  const [named] = camelRows<Columns>([row]);
  return convert ? convert(named!) : named!;
}

export type MailColumns<State> = { mailState: State | null; mailTries: number; mailReason: string | null };
export type FailureColumns = { failureStatus: string | null; failure: string | null };
export type PauseColumns = { pausedAt: Date | null; pausedReason: string | null };
export type CreatorColumns = { createdBy: number | null; creatorUid: string | null };

export function mailOf<State>({ mailState: state, mailTries: tries, mailReason: reason }: MailColumns<State>) {
  return state && { state, tries, reason };
}

export function failureOf({ failureStatus: status, failure: message }: FailureColumns) {
  return message === null ? null : { status: status!, message };
}

export function pauseOf({ pausedAt: at, pausedReason: reason }: PauseColumns) {
  return at && { at, reason: reason! };
}

export function creatorOf({ createdBy: id, creatorUid: uid }: CreatorColumns) {
  return id === null ? null : { id, uid: uid! };
}
