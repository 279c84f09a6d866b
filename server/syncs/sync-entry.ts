import { z } from 'zod';
import type { Conversion } from '../../domain/attributes/field-conversion.ts';
import { fieldFaults, type GivenField, type MappingFault } from '../../domain/syncs/mapping-faults.ts';
import type { EachMember } from '../../domain/syncs/sync-members.ts';
import { closedObject, text } from '../http/input.ts';

/** An entry of a mapping as a caller says it (docs/syncs.md). */

const MAX_WORDS = 1_000;

const field = text();

export const EntryBody = closedObject({
  from: field.optional(),
  to: field.optional().describe('The attribute or field; by default as in from'),
  value: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional().describe('A constant, instead of from'),
  drop: z.boolean().optional(),
  as: z.enum(['string', 'number', 'boolean', 'date', 'datetime', 'set']).optional(),
  format: text().optional().describe('Of a date or datetime: tokens of Luxon, or unix, or unix_ms'),
  zone: text().optional().describe('Of times without an offset: an IANA zone, by default UTC'),
  decimal: z.enum(['.', ',']).optional(),
  true: z.array(field).max(MAX_WORDS).optional(),
  false: z.array(field).max(MAX_WORDS).optional(),
  separator: text().optional().describe('Of a set'),
} satisfies EachMember<'mapping.fields', z.ZodType>);

export type EntryBody = z.output<typeof EntryBody>;

/** What the members of an entry that convert are called, beside `as`. */
const OPTIONS = ['format', 'zone', 'decimal', 'true', 'false', 'separator'] as const;

/** The entry as the domain has it. */
export function givenField({ from, to, value, drop, as, ...options }: EntryBody): GivenField {
  const given = Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined));
  return {
    ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), ...(value === undefined ? {} : { value }),
    ...(drop === undefined ? {} : { drop }), ...(as === undefined ? {} : { convert: { as, ...given } as Conversion }),
  };
}

const TAKEN: Record<NonNullable<EntryBody['as']>, readonly (typeof OPTIONS)[number][]> = {
  string: [], number: ['decimal'], boolean: ['true', 'false'], date: ['format', 'zone'], datetime: ['format', 'zone'], set: ['separator'],
};

/** What is wrong with an entry by itself; `''` is the entry. */
export function entryFaults(entry: EntryBody): MappingFault[] {
  const faults = fieldFaults(givenField(entry), '');
  return [...misplacedIn(entry), ...faults.map(({ element, message }) => ({ element: element.replace(/^\./, ''), message }))];
}

/** What it has that its kind of conversion has no use for. */
function misplacedIn(field: EntryBody): MappingFault[] {
  const taken: readonly string[] = field.as === undefined ? [] : TAKEN[field.as];
  return OPTIONS.filter((option) => field[option] !== undefined && !taken.includes(option)).map((option) => ({
    element: option, message: `is of ${kindsOf(option)}, not of ${field.as ?? 'an entry without as'}`,
  }));
}

function kindsOf(option: (typeof OPTIONS)[number]): string {
  return Object.entries(TAKEN).filter(([, options]) => options.includes(option)).map(([kind]) => `as: ${kind}`).join(' and ');
}
