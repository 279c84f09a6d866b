import { isDeepStrictEqual } from 'node:util';
import { stringify } from '../../api/client.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { type Path, sayPath } from './sync-members.ts';

/** A member that differs; undefined if it is missing. */
export type Change = { path: string; before: unknown; after: unknown };

/** Returns the differences between two JSON values, by the innermost members that both have. */
export function changesBetween(before: unknown, after: unknown, path: Path = []): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) => changesBetween(before[index], after[index], [...path, index])).flat();
  }
  if (!isObject(before) || !isObject(after)) return [{ path: sayPath(path), before, after }];
  const members = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...members].flatMap((member) => changesBetween(before[member], after[member], [...path, member]));
}

export function sayValueChange(name: string, before: unknown, after: unknown): string {
  return `${name}: ${sayValue(before)} → ${sayValue(after)}`;
}

function sayValue(value: unknown): string {
  return value === null || value === undefined ? '(nothing)' : stringify(value);
}
