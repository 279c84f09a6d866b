/** Checks the mapping of a sync, and lists its errors by element. */
import { type Conversion, FALSE, foldWord, formatError, TRUE } from '../attributes/field-conversion.ts';
import { MAX_FAULTS } from '../core/refusal.ts';
import { nearestName } from '../text/say-unknown.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS, quote } from '../text/text-limits.ts';
import { isTimeZone } from '../time/time-zone.ts';
import type { Mapping } from './record-mapping.ts';

export type MappingError = { element: string; message: string };

/** A mapping as a caller may give it: of an entry's members any may be there, or missing. */
export type GivenMapping = Omit<Mapping, 'fields'> & { fields: readonly GivenField[] };
export type GivenField = {
  from?: string;
  to?: string;
  value?: string | number | boolean | null;
  drop?: boolean;
  convert?: Conversion;
};

export type MappingUse = {
  /** True: the sync writes attributes, which belong to a customer. */
  needsCustomer: boolean;
  knownFields?: readonly string[];
};

const MAX_FIELDS = 1_000;

/** Returns the first 50 errors; none if the mapping can be prepared. */
export function mappingErrors(mapping: GivenMapping, { needsCustomer, knownFields }: MappingUse): MappingError[] {
  const { customer, fields, otherFields } = mapping;
  if (fields.length > MAX_FIELDS) return [{ element: 'mapping.fields', message: `has over ${MAX_FIELDS} entries` }];
  const errors: MappingError[] = [];
  if (customer !== null) errors.push(...sourceFieldErrors('mapping.customer.field', customer.field, knownFields));
  else if (needsCustomer)
    errors.push({ element: 'mapping.customer', message: 'is missing: attributes are of a customer' });
  if (otherFields === 'drop' && fields.every(({ drop }) => drop === true)) {
    errors.push({
      element: 'mapping.fields',
      message: 'names nothing that is written: add an entry, or keep other_fields',
    });
  }
  const targets = new Map<string, number>();
  for (const [index, field] of fields.entries()) {
    if (errors.length >= MAX_FAULTS) break;
    errors.push(...fieldErrors(field, `mapping.fields.${index}`, knownFields), ...targetErrors(field, index, targets));
  }
  return errors.slice(0, MAX_FAULTS);
}

export function fieldErrors(
  { from, to, value, drop, convert }: GivenField,
  element: string,
  knownFields?: readonly string[],
): MappingError[] {
  if (from === undefined) {
    if (to === undefined || value === undefined) return [{ element, message: 'has neither from, nor to and value' }];
    if (drop !== undefined || convert !== undefined)
      return [{ element, message: 'has a value, which is neither dropped nor converted' }];
    return [...nameErrors(`${element}.to`, to), ...textErrors(`${element}.value`, value)];
  }
  if (value !== undefined) return [{ element, message: 'has both from and value' }];
  if (drop === true && (to !== undefined || convert !== undefined)) {
    return [{ element, message: 'is dropped: it has no use for to or as' }];
  }
  return [
    ...sourceFieldErrors(`${element}.from`, from, knownFields),
    ...(to === undefined ? [] : nameErrors(`${element}.to`, to)),
    ...(convert === undefined ? [] : conversionErrors(element, convert)),
  ];
}

export function targetErrors(
  { from, to = from, drop }: GivenField,
  index: number,
  targets: Map<string, number>,
): MappingError[] {
  if (to === undefined || drop === true) return [];
  const first = targets.get(to);
  if (first !== undefined) {
    return [
      { element: `mapping.fields.${index}.to`, message: `is ${quote(to)}, as that of mapping.fields.${first} is` },
    ];
  }
  targets.set(to, index);
  return [];
}

function sourceFieldErrors(element: string, name: string, knownFields?: readonly string[]): MappingError[] {
  const errors = nameErrors(element, name);
  if (errors.length > 0 || knownFields === undefined || knownFields.includes(name)) return errors;
  const nearest = nearestName(name, knownFields);
  const hint = nearest === null ? '' : `: did you mean ${quote(nearest)}?`;
  return [
    {
      element,
      message: `is ${quote(name)}, which the source does not have${knownFields.length === 0 ? ': it has none' : hint}`,
    },
  ];
}

function nameErrors(element: string, name: string): MappingError[] {
  if (name === '') return [{ element, message: 'is empty' }];
  if (isLongerThan(name, MAX_CODE_POINTS)) return [{ element, message: `has over ${MAX_CODE_POINTS} characters` }];
  return textErrors(element, name);
}

function textErrors(element: string, value: unknown): MappingError[] {
  const isSound = typeof value !== 'string' || isStorable(value);
  return isSound ? [] : [{ element, message: 'has a NUL or half a surrogate pair' }];
}

function conversionErrors(element: string, conversion: Conversion): MappingError[] {
  switch (conversion.as) {
    case 'string':
    case 'number':
      return [];
    case 'boolean':
      return wordErrors(element, conversion);
    case 'date':
    case 'datetime':
      return dateErrors(element, conversion);
    case 'set':
      return conversion.separator === undefined ? [] : nameErrors(`${element}.separator`, conversion.separator);
  }
}

function dateErrors(element: string, { format, zone }: { format?: string; zone?: string }): MappingError[] {
  const errors: MappingError[] = [];
  if (format !== undefined && format !== 'unix' && format !== 'unix_ms') {
    const message = isStorable(format) ? formatError(format) : 'has a NUL or half a surrogate pair';
    if (message !== undefined) errors.push({ element: `${element}.format`, message });
  }
  if (zone !== undefined && !isTimeZone(zone)) {
    errors.push({
      element: `${element}.zone`,
      message: `is ${quote(zone)}, which is no time zone such as Europe/Paris`,
    });
  }
  return errors;
}

function wordErrors(
  element: string,
  { true: yes, false: no }: { true?: readonly string[]; false?: readonly string[] },
): MappingError[] {
  const errors = [...wordListErrors(`${element}.true`, yes), ...wordListErrors(`${element}.false`, no)];
  const words = new Set((yes ?? TRUE).map(foldWord));
  const both = (no ?? FALSE).find((word) => words.has(foldWord(word)));
  if (both === undefined) return errors;
  const message = `has ${quote(both)}, which stands for ${no === undefined ? 'false' : 'true'} as well`;
  return [...errors, { element: `${element}.${no === undefined ? 'true' : 'false'}`, message }];
}

function wordListErrors(element: string, words: readonly string[] | undefined): MappingError[] {
  if (words === undefined) return [];
  if (words.length === 0 || words.length > MAX_FIELDS)
    return [{ element, message: `must have 1 to ${MAX_FIELDS} words` }];
  return words.flatMap((word, index) => nameErrors(`${element}.${index}`, word.trim()));
}
