/** Returns the instant in ISO 8601, UTC; null without one. */
export const isoOf = (at: Date | null): string | null => at?.toISOString() ?? null;
