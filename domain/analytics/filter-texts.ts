import { isBound } from './comparison.ts';

/** Texts in a segment's filters that may name somebody: values of attributes, and details of events. All else are settings. */

type Filter = { filter_on?: unknown; operator?: unknown };

/** Filters as they are stored, with each such text, or number, as `change` gives it. */
export function mapFilterTexts(filters: unknown, change: (text: string) => string): unknown {
  if (Array.isArray(filters)) return filters.map((element) => mapFilterTexts(element, change));
  if (typeof filters !== 'object' || filters === null) return filters;
  return Object.fromEntries(Object.entries(filters).map(([member, value]) => [
    member, namesPeople(filters, member) ? mapTexts(value, change) : mapFilterTexts(value, change),
  ]));
}

export function listFilterTexts(filters: unknown): string[] {
  const texts: string[] = [];
  mapFilterTexts(filters, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** Bounds are none: `at_least 25` names no person, even if a person's id is 25. */
function namesPeople({ filter_on: on, operator }: Filter, member: string): boolean {
  return on === 'attributes' ? member === 'values' && !isBound(String(operator)) : on === 'events' && member === 'match_details';
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') return changedNumber(value, change);
  if (Array.isArray(value)) return value.map((element) => mapTexts(element, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, mapTexts(each, change)]));
}

/** A number that stays the same stays a number. */
function changedNumber(number: number, change: (text: string) => string): number | string {
  const changed = change(String(number));
  return changed === String(number) ? number : changed;
}
