import type { ValueType } from '../../domain/attributes/attribute-value.ts';

/** Attributes of the demo's System of Records; `legacy` is disabled. */
export const DEMO_ATTRIBUTES: [key: string, type: ValueType][] = [
  ['plan', 'String'],
  ['orders', 'Number'],
  ['newsletter', 'Boolean'],
  ['born', 'Date'],
  ['last_seen', 'Datetime'],
  ['interests', 'Set'],
  ['legacy', 'String'],
];
