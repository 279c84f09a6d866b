import { closest } from 'fastest-levenshtein';
import { formatFault } from '../attributes/date-format.ts';
import { type Conversion, FALSE, foldWord, TRUE } from '../attributes/field-conversion.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS, quote } from '../core/text-limits.ts';
import { isTimeZone } from '../core/time-zone.ts';
import type { Mapping } from './record-mapping.ts';

/** What is wrong with an element, by its wire name. */
export type MappingFault = { element: string; message: string };

/** A mapping as a caller may give it: of an entry's members any may be there, or missing. */
export type GivenMapping = Omit<Mapping, 'fields'> & { fields: readonly GivenField[] };
export type GivenField = {
  from?: string; to?: string; value?: string | number | boolean | null; drop?: boolean; convert?: Conversion;
};

export type MappingUse = {
  /** Whether attributes are written to, which are somebody's. */
  needsCustomer: boolean;
  /** What the source has, where that is known. */
  knownFields?: readonly string[];
};

const MAX_FIELDS = 1_000;
/** Of what is worth reading at once. */
const MAX_FAULTS = 50;

/** Everything that is wrong with a mapping, the first 50; empty where it can be prepared. */
export function mappingFaults(mapping: GivenMapping, { needsCustomer, knownFields }: MappingUse): MappingFault[] {
  const { customer, fields, otherFields } = mapping;
  if (fields.length > MAX_FIELDS) return [{ element: 'mapping.fields', message: `has over ${MAX_FIELDS} entries` }];
  const faults: MappingFault[] = [];
  if (customer !== null) faults.push(...sourceFieldFaults('mapping.customer.field', customer.field, knownFields));
  else if (needsCustomer) faults.push({ element: 'mapping.customer', message: 'is missing: attributes are of a customer' });
  if (otherFields === 'drop' && fields.every(({ drop }) => drop === true)) {
    faults.push({ element: 'mapping.fields', message: 'names nothing that is written: add an entry, or keep other_fields' });
  }
  const targets = new Map<string, number>();
  for (const [index, field] of fields.entries()) {
    if (faults.length >= MAX_FAULTS) break;
    faults.push(...fieldFaults(field, `mapping.fields.${index}`, knownFields), ...targetFaults(field, index, targets));
  }
  return faults.slice(0, MAX_FAULTS);
}

/** What is wrong with an entry by itself, whatever the others are. */
export function fieldFaults(
  { from, to, value, drop, convert }: GivenField, element: string, knownFields?: readonly string[],
): MappingFault[] {
  if (from === undefined) {
    if (to === undefined || value === undefined) return [{ element, message: 'has neither from, nor to and value' }];
    if (drop !== undefined || convert !== undefined) return [{ element, message: 'has a value, which is neither dropped nor converted' }];
    return [...nameFaults(`${element}.to`, to), ...textFaults(`${element}.value`, value)];
  }
  if (value !== undefined) return [{ element, message: 'has both from and value' }];
  if (drop === true && (to !== undefined || convert !== undefined)) {
    return [{ element, message: 'is dropped: it has no use for to or as' }];
  }
  return [
    ...sourceFieldFaults(`${element}.from`, from, knownFields),
    ...(to === undefined ? [] : nameFaults(`${element}.to`, to)),
    ...(convert === undefined ? [] : conversionFaults(element, convert)),
  ];
}

/** Of two entries with one name the second is at fault; `targets` has those of the entries before. */
export function targetFaults({ from, to = from, drop }: GivenField, index: number, targets: Map<string, number>): MappingFault[] {
  if (to === undefined || drop === true) return [];
  const first = targets.get(to);
  if (first !== undefined) {
    return [{ element: `mapping.fields.${index}.to`, message: `is ${quote(to)}, as that of mapping.fields.${first} is` }];
  }
  targets.set(to, index);
  return [];
}

function sourceFieldFaults(element: string, name: string, knownFields?: readonly string[]): MappingFault[] {
  const faults = nameFaults(element, name);
  if (faults.length > 0 || knownFields === undefined || knownFields.includes(name)) return faults;
  const nearest = knownFields.length === 0 ? 'it has none' : `did you mean ${quote(closest(name, knownFields))}?`;
  return [{ element, message: `is ${quote(name)}, which the source does not have: ${nearest}` }];
}

function nameFaults(element: string, name: string): MappingFault[] {
  if (name === '') return [{ element, message: 'is empty' }];
  if (isLongerThan(name, MAX_CODE_POINTS)) return [{ element, message: `has over ${MAX_CODE_POINTS} characters` }];
  return textFaults(element, name);
}

function textFaults(element: string, value: unknown): MappingFault[] {
  const isSound = typeof value !== 'string' || isStorable(value);
  return isSound ? [] : [{ element, message: 'has a NUL or half a surrogate pair' }];
}

function conversionFaults(element: string, conversion: Conversion): MappingFault[] {
  switch (conversion.as) {
    case 'string':
    case 'number':
      return [];
    case 'boolean':
      return wordFaults(element, conversion);
    case 'date':
    case 'datetime':
      return dateFaults(element, conversion);
    case 'set':
      return conversion.separator === undefined ? [] : nameFaults(`${element}.separator`, conversion.separator);
  }
}

function dateFaults(element: string, { format, zone }: { format?: string; zone?: string }): MappingFault[] {
  const faults: MappingFault[] = [];
  if (format !== undefined && format !== 'unix' && format !== 'unix_ms') {
    const message = isStorable(format) ? formatFault(format) : 'has a NUL or half a surrogate pair';
    if (message !== undefined) faults.push({ element: `${element}.format`, message });
  }
  if (zone !== undefined && !isTimeZone(zone)) {
    faults.push({ element: `${element}.zone`, message: `is ${quote(zone)}, which is no time zone such as Europe/Paris` });
  }
  return faults;
}

function wordFaults(element: string, { true: yes, false: no }: { true?: readonly string[]; false?: readonly string[] }): MappingFault[] {
  const faults = [...wordListFaults(`${element}.true`, yes), ...wordListFaults(`${element}.false`, no)];
  const words = new Set((yes ?? TRUE).map(foldWord));
  const both = (no ?? FALSE).find((word) => words.has(foldWord(word)));
  if (both === undefined) return faults;
  const message = `has ${quote(both)}, which stands for ${no === undefined ? 'false' : 'true'} as well`;
  return [...faults, { element: `${element}.${no === undefined ? 'true' : 'false'}`, message }];
}

function wordListFaults(element: string, words: readonly string[] | undefined): MappingFault[] {
  if (words === undefined) return [];
  if (words.length === 0 || words.length > MAX_FIELDS) return [{ element, message: `must have 1 to ${MAX_FIELDS} words` }];
  return words.flatMap((word, index) => nameFaults(`${element}.${index}`, word.trim()));
}
