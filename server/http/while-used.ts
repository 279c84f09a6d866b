import { refuse } from '../../domain/core/refusal.ts';
import { quote } from '../../domain/core/text-limits.ts';

const MAX_NAMED = 5;

/** Refuses to delete what syncs use. */
export function refuseWhileUsed(what: 'connection' | 'System of Record', syncs: readonly string[]): void {
  if (syncs.length === 0) return;
  const names = syncs.slice(0, MAX_NAMED).map(quote).join(', ');
  const others = syncs.length > MAX_NAMED ? `, and ${syncs.length - MAX_NAMED} more` : '';
  refuse(409, 'conflict', `The ${what} is used by syncs: ${names}${others}. Delete them first`);
}
