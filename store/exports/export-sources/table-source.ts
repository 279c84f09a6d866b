import type { ExportScope } from './export-scope.ts';

/** Rows of a table, maybe of a partitioned one, that are read in the order in which they lie. */
export type TableSource = {
  table: 'events' | 'sessions' | 'locations' | 'devices' | 'attribute_values' | 'attempts';
  isPartitioned: boolean;
  /** Which rows of `r`, the table or one of its partitions. */
  condition: (scope: ExportScope) => string;
  /** What is joined to each, `LATERAL`, so that it comes after it; '' for nothing. */
  joins: (scope: ExportScope) => string;
  /** Of these, those that make other rows of one: what is counted has them, too. */
  countedJoins: (scope: ExportScope) => string;
  /** The select list. */
  columns: (scope: ExportScope) => string;
};

export const noJoins = (): string => '';
