import pg from 'pg';
import type { Json, SourceRecord } from '../core/contract.ts';
import { isOfServer } from './postgres-refusal.ts';

/**
 * Why a row is not taken; `column`: its value is wrong, and `message` says how; `later`: a later try may have another
 * outcome.
 */
export type RowError = { message: string; column?: string; later?: boolean };

/** By SQLSTATE, without what Postgres would quote of the row (Postgres: appendix A). */
const OF_ROW: Record<string, (error: pg.DatabaseError) => string> = {
  '23502': ({ column }) => `The column ${column ?? ''} may not be empty`,
  '23503': ({ constraint }) =>
    `It refers to a row that there is not, or is referred to (constraint ${constraint ?? ''})`,
  '23505': ({ constraint }) => `Another row has the same values in a unique index (constraint ${constraint ?? ''})`,
  '23514': ({ constraint }) => `It does not meet the check ${constraint ?? ''}`,
  '23P01': ({ constraint }) => `It collides with another row (constraint ${constraint ?? ''})`,
  '44000': () => 'It does not meet the conditions of the view',
};

/** The same for errors of one value. */
const OF_VALUE: Record<string, (error: pg.DatabaseError) => string> = {
  '22001': ({ message }) =>
    `is too long${/^(?:value|bit string) too long( for type [\w ]+(?:\(\d+\))?)$/.exec(message)?.[1] ?? ''}`,
  '22003': () => 'is a number out of the range of its column',
  '22007': () => 'is no date or time that its column takes',
  '22008': () => 'is a date or time that is out of range',
  '22021': () => 'has characters that the database does not take',
  '22P02': ({ message }) => sayType(message),
  '22P03': () => 'does not fit the type of its column',
  '22P05': () => 'has a character that the database does not take, such as a zero byte',
};

/**
 * Whether a statement may have failed because of a row: a trigger, a function or a type may raise any state. The states
 * of a server, a connection or colliding transactions are left out, but for an internal error of no further kind
 * (XX000): so extensions refuse a value.
 */
export function isRowError(error: unknown): error is pg.DatabaseError {
  return (
    error instanceof pg.DatabaseError && error.code !== undefined && (error.code === 'XX000' || !isOfServer(error.code))
  );
}

/**
 * Returns why, without a value of the record; `column`: the one whose value is wrong, as far as that could be found
 * out.
 */
export function rowError(error: pg.DatabaseError, column: string | null, record: SourceRecord): RowError {
  const { code = '' } = error;
  if (isPolicy(error)) return { message: 'A row-level security policy of the table does not let it in' };
  const state = ` (SQLSTATE ${code})`;
  // Another session holds a lock, or what is asked for is in use.
  const later = code.startsWith('55');
  if (error.routine === 'exec_stmt_raise') return { message: `A trigger of the table refused it${state}`, later };
  if (column !== null && code.startsWith('22') && !isWellFormed(record[column] ?? null)) {
    return { message: `has half of a surrogate pair, which is no character${state}`, column };
  }
  const ofValue = OF_VALUE[code]?.(error);
  if (ofValue !== undefined)
    return column === null ? { message: `A value ${ofValue}${state}` } : { message: ofValue + state, column };
  const ofRow = OF_ROW[code]?.(error);
  if (column === null || ofRow !== undefined) return { message: (ofRow ?? 'Postgres does not take it') + state, later };
  return { message: `is not taken by Postgres${state}`, column };
}

/** Whether it may be found out which value is wrong, where Postgres doesn't say. */
export function isOfValue({ code }: pg.DatabaseError): boolean {
  return code === 'XX000' || (code?.startsWith('22') ?? false);
}

/** Postgres reads a record as JSON, and says of half a surrogate pair no more than that its JSON is wrong. */
function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function isPolicy({ code, routine }: pg.DatabaseError): boolean {
  return code === '42501' && routine === 'ExecWithCheckOptions';
}

/** `invalid input syntax for type integer: "…"` names the type, before it quotes the value. */
function sayType(message: string): string {
  const type = /^invalid input (?:syntax for type|value for enum) ([\w ."]+?)(?=:)/.exec(message)?.[1];
  return type === undefined ? 'does not fit the type of its column' : `is no ${type}`;
}
