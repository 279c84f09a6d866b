import { table } from '../core/table.ts';

/** How many errors there are of each type, the most first, and where each of them is; nothing where there are none. */
export function errorCounts(byType: Record<string, number>, counted: string, command: string): string[] {
  const counts = Object.entries(byType).toSorted(([, one], [, other]) => other - one);
  if (counts.length === 0) return [];
  return ['', table(['error', counted], counts.map(([type, count]) => [type, String(count)])), '',
    `Each with its reason: ${command}`];
}
