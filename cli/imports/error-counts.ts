import { table } from '../core/table.ts';
import type { Terminal } from '../core/command-context.ts';

export function errorCounts(
  byType: Record<string, number>,
  counted: string,
  { width, command }: Terminal,
  listed: string,
): string[] {
  const counts = Object.entries(byType).toSorted(([, one], [, other]) => other - one);
  if (counts.length === 0) return [];
  return [
    '',
    table(
      ['error', counted],
      counts.map(([type, count]) => [type, String(count)]),
      width,
    ),
    '',
    `Each with its reason: ${command} ${listed}`,
  ];
}

/** Warns of accepted rows whose customer id is probably a mistake. */
export function suspiciousIds(count: number, what: 'rows' | 'records'): string[] {
  return count === 0 ? [] : [`suspicious ids: ${count} ${what} taken for customers such as undefined, null or 12345.0`];
}
