/** Reactions to changed fields of the source. */
export const SCHEMA_RULES = ['stop', 'ignore', 'follow'] as const;

export const RUN_CAUSES = ['schedule', 'request', 'redrive'] as const;

export const FIELD_TYPES = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'object', 'array'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];
