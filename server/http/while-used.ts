import { refuse } from '../../domain/core/refusal.ts';
import { quote } from '../../domain/text/text-limits.ts';

const MAX_NAMED = 5;

/** Refuses to delete an object that syncs, exporters or apps use, and names them. */
export function refuseWhileUsed(
  what: 'connection' | 'System of Record',
  users: readonly string[],
  { kind = 'syncs', advice = 'Delete them first' } = {},
): void {
  if (users.length === 0) return;
  const names = users.slice(0, MAX_NAMED).map(quote).join(', ');
  const others = users.length > MAX_NAMED ? `, and ${users.length - MAX_NAMED} more` : '';
  refuse(409, 'conflict', `The ${what} is used by ${kind}: ${names}${others}. ${advice}`);
}
