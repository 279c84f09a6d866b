import type { ImportError } from '../imports/import-error.ts';

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
