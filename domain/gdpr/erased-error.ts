import { ERASED } from '../core/erased.ts';
import type { ImportError } from '../imports/import-error.ts';
import { possibleIds } from './ids-in-text.ts';

/** Returns the error of an erased person's row: the keyed hash is all that is left of the person. */
export function erasedError(line: number, customerHash: Uint8Array | null): ImportError {
  return {
    line,
    errorType: 'INVALID_CUSTOMER_ID',
    outcome: 'failed',
    stage: 'merge',
    message: 'erased',
    customerId: null,
    attributeKey: null,
    raw: null,
    originalLine: null,
    customerHash,
  };
}

/** Returns the error of a row that names an erased person, with nothing about the person. */
export function withoutPerson(error: ImportError, customerHash: Uint8Array): ImportError {
  return { ...error, message: ERASED, customerId: null, attributeKey: null, raw: null, customerHash };
}

/** The message in place of one that quotes a row that could not be searched. */
const NOT_KEPT = 'the reason quotes the row, and is not kept: too many people were being erased to search it for them';

/** Returns the error of a row that could not be searched for people, without quotes of the row. */
export function withoutQuotes(error: ImportError): ImportError {
  const words = possibleIds(error.raw ?? '', Infinity);
  const quotes = [...possibleIds(error.message, Infinity)].some((word) => words.has(word));
  return { ...error, message: quotes ? NOT_KEPT : error.message, attributeKey: null, raw: null };
}
