import type { Conversion } from '../domain/field-conversion.ts';
import type { GivenField } from '../domain/mapping-faults.ts';
import type { MappedField, Mapping } from '../domain/record-mapping.ts';
import type { FieldBody, SyncChange } from './sync-body.ts';

/** What the members of an entry that convert are called, beside `as`. */
const OPTIONS = ['format', 'zone', 'decimal', 'true', 'false', 'separator'] as const;

type Given = { mapping: Omit<Mapping, 'fields'> & { fields: GivenField[] }; misplaced: { element: string; message: string }[] };

/** A mapping as it was given, with what its entries have that their kind of conversion has no use for. */
export function givenMapping(body: NonNullable<SyncChange['mapping']>): Given {
  const fields = body.fields ?? [];
  const { customer = null } = body;
  return {
    mapping: {
      customer: customer && { field: customer.field, type: customer.type ?? 'user_id' },
      fields: fields.map(givenField),
      otherFields: body.other_fields ?? (fields.length === 0 ? 'keep' : 'drop'),
      empty: body.empty ?? 'fail',
    },
    misplaced: fields.flatMap((field, index) => misplacedIn(field, `mapping.fields.${index}`)),
  };
}

function givenField({ from, to, value, drop, as, ...options }: FieldBody): GivenField {
  const given = Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined));
  return {
    ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), ...(value === undefined ? {} : { value }),
    ...(drop === undefined ? {} : { drop }), ...(as === undefined ? {} : { convert: { as, ...given } as Conversion }),
  };
}

const TAKEN: Record<NonNullable<FieldBody['as']>, readonly (typeof OPTIONS)[number][]> = {
  string: [], number: ['decimal'], boolean: ['true', 'false'], date: ['format', 'zone'], datetime: ['format', 'zone'], set: ['separator'],
};

function misplacedIn(field: FieldBody, element: string): Given['misplaced'] {
  const taken: readonly string[] = field.as === undefined ? [] : TAKEN[field.as];
  return OPTIONS.filter((option) => field[option] !== undefined && !taken.includes(option)).map((option) => ({
    element: `${element}.${option}`, message: `is of ${kindsOf(option)}, not of ${field.as ?? 'an entry without as'}`,
  }));
}

function kindsOf(option: (typeof OPTIONS)[number]): string {
  return Object.entries(TAKEN).filter(([, options]) => options.includes(option)).map(([kind]) => `as: ${kind}`).join(' and ');
}

/** The entry as a caller says it. */
export function showField(field: MappedField): Record<string, unknown> {
  if ('convert' in field && field.convert) {
    const { convert, ...entry } = field;
    return { ...entry, ...convert };
  }
  return field;
}
