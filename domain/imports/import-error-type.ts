/** Error types of an import, in the reference's order (Batch CSV import of attribute values). */
export const IMPORT_ERROR_TYPES = [
  'KAFKA_DELIVERY_FAILED',
  'FILE_TRANSFER_ERROR',
  'EMPTY_SOR',
  'INVALID_CUSTOMER_ID',
  'EMPTY_KEY',
  'TOO_LONG_KEY',
  'EMPTY_VALUE',
  'INVALID_VALUE',
  'TOO_LONG_VALUE',
  'TOO_LONG_SET_SIZE',
  'UNDEFINED_ATTRIBUTE',
  'DISABLED_ATTRIBUTE',
  'UNKNOWN_TYPE',
  'INVALID_ACTION',
  'PARSING_FAILED',
  'FILE_ENCODING',
] as const;

export type ImportErrorType = (typeof IMPORT_ERROR_TYPES)[number];

/** Type of an error of Millrace itself: the reference has no better one. */
export const INTERNAL_FAILURE = 'KAFKA_DELIVERY_FAILED' satisfies ImportErrorType;

/** Error types of a sync's run; a destination may refuse a record in its own words. */
export const RUN_ERROR_TYPES = [...IMPORT_ERROR_TYPES, 'DELIVERY_FAILED', 'DELIVERY_UNKNOWN'] as const;

export type RunErrorType = (typeof RUN_ERROR_TYPES)[number];
