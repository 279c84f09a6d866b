/** Salesforce's errors: their codes and names of fields are read; their messages quote values and are not passed on. */
import { z } from 'zod';
import { sayChoices, type WriteOutcome } from '../core/contract.ts';

const Code = z
  .string()
  .regex(/^[A-Z_]{1,64}$/)
  .optional()
  .catch(undefined);
/** An error of a call (`errorCode`) or of a record in a collection (`statusCode`). */
const Fault = z
  .object({
    errorCode: Code,
    statusCode: Code,
    message: z.string().optional().catch(undefined),
    fields: z.array(z.string()).nullish().catch(undefined),
  })
  .transform(({ errorCode, statusCode, message, fields }) => ({
    code: errorCode ?? statusCode,
    message,
    fields: fields ?? [],
  }));
export type Fault = z.output<typeof Fault>;
export const Faults = z.array(Fault);

/** Returns the faults of an error body; none if it is of another form. */
export function faultsOf(json: unknown): Fault[] {
  return Faults.catch([]).parse(json);
}

export const codesOf = (faults: readonly Fault[]): string[] => faults.flatMap(({ code }) => code ?? []);

/** A lock that another change of the record, or of one that it belongs to, holds. */
export const LOCKED = 'UNABLE_TO_LOCK_ROW';
/** Codes of what may go better later. */
export const LATER = new Set([LOCKED, 'SERVER_UNAVAILABLE', 'QUERY_TIMEOUT', 'UNKNOWN_EXCEPTION', 'PROCESSING_HALTED']);
/** Codes of a record that is not there. */
export const GONE = ['ENTITY_IS_DELETED', 'INVALID_CROSS_REFERENCE_KEY', 'NOT_FOUND'];

const NO_CHOICE = 'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST';

/** Meanings of codes about a field's value, as the end of a sentence. */
const OF_VALUES: Record<string, string> = {
  REQUIRED_FIELD_MISSING: 'is empty, and Salesforce requires one',
  STRING_TOO_LONG: 'is longer than Salesforce takes',
  [NO_CHOICE]: 'is not one of the choices of the field',
  INVALID_FIELD_FOR_INSERT_UPDATE: 'is of a field that the user may not set in this record',
  INVALID_EMAIL_ADDRESS: 'is not an e-mail address that Salesforce takes',
  INVALID_TYPE_ON_FIELD_IN_RECORD: 'is of another type than the field',
  NUMBER_OUTSIDE_VALID_RANGE: 'is outside of the range that Salesforce takes',
  MALFORMED_ID: 'is not an id of Salesforce',
  ENTITY_IS_DELETED: 'is the id of a record that was deleted',
  INVALID_CROSS_REFERENCE_KEY: 'is the id of no record that the user may see and that fits',
  DUPLICATE_VALUE: 'is the value of another record, and must be unique',
  DUPLICATE_EXTERNAL_ID: 'is the value of several records of Salesforce: it must be that of one',
  FIELD_CUSTOM_VALIDATION_EXCEPTION: 'breaks a validation rule of the org',
};

/** Meanings of codes about a record whose fault names no field. */
const OF_RECORDS: Record<string, string> = {
  INVALID_FIELD_FOR_INSERT_UPDATE: 'It sets a field that the user may not set in this record',
  MALFORMED_ID: 'It has an id that is not one of Salesforce',
  ENTITY_IS_DELETED: 'It, or a record that it names, was deleted in Salesforce',
  INVALID_CROSS_REFERENCE_KEY: 'It has the id of a record that the user may not see or that does not fit',
  DUPLICATES_DETECTED: 'A duplicate rule of the org takes it for a record that is there',
  DUPLICATE_VALUE: 'Another record has one of its values that must be unique',
  FIELD_CUSTOM_VALIDATION_EXCEPTION: 'It breaks a validation rule of the org',
  CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: 'A trigger or a flow of the org failed for it',
  INSUFFICIENT_ACCESS_OR_READONLY: 'The user may not change it',
  INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY: 'The user may not use a record that it names',
  DELETE_FAILED: 'Other records depend on it',
};

/** A record's fields, all fields of its object with the choices that they have, and the one that is its key. */
type Written = { fields: readonly string[]; choices: ReadonlyMap<string, readonly string[]>; key: string };

/** Returns what became of a record that Salesforce refused: words of ours, its code, and the field that it names. */
export function outcomeOfFault(
  { code = 'UNKNOWN', fields: named }: Pick<Fault, 'code' | 'fields'>,
  { fields, choices, key }: Written,
): WriteOutcome {
  const failed = (message: string, more: { field?: string; later?: boolean } = {}, advice = ''): WriteOutcome => ({
    kind: 'failed',
    message: `${message} (${code})${advice}`,
    later: false,
    ...more,
  });
  if (LATER.has(code)) return failed('Salesforce did not take it now', { later: true });
  const ours = code === 'DUPLICATE_EXTERNAL_ID' ? [key] : named.filter((name) => choices.has(name));
  const field = ours.find((name) => fields.includes(name));
  if (field !== undefined) {
    const advice = code === NO_CHOICE ? sayChoices(choices.get(field)) : '';
    return failed(OF_VALUES[code] ?? 'is not one that Salesforce takes', { field }, advice);
  }
  if (ours.length === 0) return failed(OF_RECORDS[code] ?? 'Salesforce does not take it');
  return failed(`Salesforce does not take it because of ${ours.join(', ')}, for which it has no value`);
}
