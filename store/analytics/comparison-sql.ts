import { type ComparedType, type Comparison, versionNumbers } from '../../domain/analytics/comparison.ts';
import { lastDaysOf } from '../../domain/analytics/segment-filters.ts';
import type { AddParameter } from './funnel-sql.ts';

const SQL_TYPES = {
  String: 'text',
  Number: 'numeric',
  Boolean: 'boolean',
  Date: 'date',
  Datetime: 'timestamptz',
  Set: 'text',
  Version: 'text',
} as const satisfies Record<ComparedType, string>;

const SIGNS: Partial<Record<Comparison['operator'], string>> = {
  greater_than: '>',
  at_least: '>=',
  less_than: '<',
  at_most: '<=',
  before: '<',
  after: '>',
};

/** The numbers of a version, as versionNumbers has them. */
const versionSql = (column: string): string =>
  `CASE WHEN length(${column}) <= 100 THEN
    string_to_array(regexp_replace(substring(${column} from '[0-9]+(?:\\.[0-9]+)*'), '(\\.0+)+$', ''), '.')::numeric[] END`;

/** Whether a column has a value as a comparison asks for, not negated; false or null where it has none. */
export function comparisonSql(
  { type, operator, values }: Pick<Comparison, 'type' | 'operator' | 'values'>,
  column: string,
  now: Date,
  add: AddParameter,
): string {
  const sqlType = SQL_TYPES[type];
  const any = (condition: (value: string) => string) => `(${values.map((value) => condition(value)).join(' OR ')})`;
  if (operator === 'is_set') return type === 'Set' ? `cardinality(${column}) > 0` : `${column} IS NOT NULL`;
  if (values.length === 0) return 'false';
  if (operator === 'contains') return any((value) => `position(${add(value)}::text IN ${column}) > 0`);
  if (operator === 'starts_with') return any((value) => `starts_with(${column}, ${add(value)}::text)`);
  if (operator === 'contains_any') return `${column} && ${add(values)}::text[]`;
  if (operator === 'contains_all') return `${column} @> ${add(values)}::text[]`;
  if (operator === 'in_last_days') {
    const { from, until } = lastDaysOf(Number(values[0]), now);
    const at = (instant: Date) => add(type === 'Date' ? instant.toISOString().slice(0, 10) : instant);
    return `(${column} >= ${at(from)}::${sqlType} AND ${column} < ${at(until)}::${sqlType})`;
  }
  const [compared, parameter] =
    type === 'Version'
      ? [versionSql(column), (value: string) => `${add(versionNumbers(value))}::numeric[]`]
      : [column, (value: string) => `${add(value)}::${sqlType}`];
  if (operator === 'between') return `${compared} BETWEEN ${parameter(values[0]!)} AND ${parameter(values[1]!)}`;
  const sign = SIGNS[operator];
  if (sign !== undefined) return `${compared} ${sign} ${parameter(values[0]!)}`;
  if (type === 'Version') return any((value) => `${compared} = ${parameter(value)}`);
  return `${column} = ANY (${add(values)}::${sqlType}[])`;
}
