export const V2_COLUMNS = ['user_id', 'attribute_key', 'value'] as const;
export const V3_COLUMNS = [...V2_COLUMNS, 'action_type'] as const;

/** Columns that an error file has after those of its import. */
export const ERROR_COLUMNS = ['line', 'error_type', 'reason', 'original'] as const;
