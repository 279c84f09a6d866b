import type { ImportError } from '../imports/import-error.ts';

/** The error of an erased person's row: it tells nothing of the person but the keyed hash. */
export function erasedError(line: number, customerHash: Uint8Array | null): ImportError {
  return {
    line, errorType: 'INVALID_CUSTOMER_ID', outcome: 'failed', stage: 'merge', message: 'erased',
    customerId: null, attributeKey: null, raw: null, originalLine: null, customerHash,
  };
}
