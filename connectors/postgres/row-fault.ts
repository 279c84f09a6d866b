import pg from 'pg';

/** By SQLSTATE, without what Postgres would quote of the row (Postgres: appendix A). */
const WORDS: Record<string, (error: pg.DatabaseError) => string> = {
  '23502': ({ column }) => `The column ${column ?? ''} may not be empty`,
  '23503': ({ constraint }) => `It refers to a row that there is not, or is referred to (constraint ${constraint ?? ''})`,
  '23505': ({ constraint }) => `Another row has the same values in a unique index (constraint ${constraint ?? ''})`,
  '23514': ({ constraint }) => `It does not meet the check ${constraint ?? ''}`,
  '23P01': ({ constraint }) => `It collides with another row (constraint ${constraint ?? ''})`,
  '22001': ({ message }) => `A value is too long: ${message}`,
  '22003': () => 'A number is out of the range of its column',
  '22007': () => 'A value is no date or time that its column takes',
  '22008': () => 'A date or time is out of range',
  '22021': () => 'A text has characters that the database does not take',
  '22P02': ({ message }) => `A value does not fit the type of its column${typeIn(message)}`,
  '22P05': () => 'A text has a character that the database does not take, such as a zero byte',
  '44000': () => 'It does not meet the conditions of the view',
  'P0001': () => 'A trigger of the table refused it',
};

/** Classes that speak of values: data, keys that come twice, integrity, conditions of views, what PL/pgSQL raises, limits of sizes. */
const OF_ROWS = new Set(['21', '22', '23', '44', 'P0', '54']);

/** Whether a statement failed because of a row, and then why, without a value of it. */
export function rowFault(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError)) return null;
  const { code = '', routine } = error;
  if (code === '42501' && routine === 'ExecWithCheckOptions') return 'A row-level security policy of the table does not let it in';
  if (!OF_ROWS.has(code.slice(0, 2))) return null;
  const words = WORDS[code]?.(error) ?? 'Postgres does not take it';
  return `${words} (SQLSTATE ${code})`;
}

/** `invalid input syntax for type integer: "…"` names the type, before it quotes the value. */
function typeIn(message: string): string {
  const type = /^invalid input (?:syntax for type|value for enum) ([\w ]+)(?=:)/.exec(message)?.[1];
  return type === undefined ? '' : `, ${type}`;
}
