import { SYNC_MEMBERS } from '../../domain/syncs/sync-members.ts';
import { nearestOf } from '../core/nearest.ts';

/** The path to a member: names, and indexes of elements. */
export type Path = (string | number)[];

/** Returns members that no sync has, such as typos. */
export function unknownMembers(value: unknown, path: Path = []): { path: Path; message: string }[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => unknownMembers(element, [...path, index]));
  const place = path.filter((step) => typeof step === 'string').join('.');
  if (typeof value !== 'object' || value === null || !Object.hasOwn(SYNC_MEMBERS, place)) return [];
  const known: readonly string[] = SYNC_MEMBERS[place as keyof typeof SYNC_MEMBERS];
  return Object.entries(value).flatMap(([member, inner]) => {
    const at = [...path, member];
    if (known.includes(member)) return unknownMembers(inner, at);
    return [{ path: at, message: `${sayPath(at)}: is unknown${nearestOf(member, known)}` }];
  });
}

export function sayPath(path: Path): string {
  return path.join('.');
}

/** Reads a path as `sayPath` and the server write it. */
export function parsePath(element: string): Path {
  return element.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
