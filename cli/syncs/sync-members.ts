import { SYNC_MEMBERS } from '../../domain/syncs/sync-members.ts';
import { nearestOf } from '../core/nearest.ts';

/** The way to a member: names, and the places of elements. */
export type Path = (string | number)[];

/** Members that no sync has: those of a typo. */
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

/** As `mapping.fields.2.to`. */
export function sayPath(path: Path): string {
  return path.join('.');
}

/** Parses the paths that `sayPath` and the server write. */
export function parsePath(element: string): Path {
  return element.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
