import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';

export function showRights(rights: ReadonlySet<Right>): Record<Right, boolean> {
  return Object.fromEntries(RIGHTS.map((right) => [right, rights.has(right)])) as Record<Right, boolean>;
}

export function fullName({ firstName, lastName }: { firstName: string; lastName: string }): string {
  return [firstName, lastName].filter(Boolean).join(' ');
}
