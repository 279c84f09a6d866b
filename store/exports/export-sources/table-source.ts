import type { ExportScope } from './export-scope.ts';

/** Rows of a table, maybe of a partitioned one, that are read in the order in which they lie. */
export type TableSource = {
  table: 'events' | 'sessions' | 'locations' | 'devices' | 'attribute_values' | 'attempts';
  isPartitioned: boolean;
  condition: (scope: ExportScope) => string;
  /** Joins for each row, `LATERAL`, so that they come after it; '' for none. */
  joins: (scope: ExportScope) => string;
  /** The joins that make several rows of one, which counting needs, too. */
  countedJoins: (scope: ExportScope) => string;
  columns: (scope: ExportScope) => string;
};

export const noJoins = (): string => '';
