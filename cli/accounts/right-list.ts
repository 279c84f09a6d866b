import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import { refuse } from '../../domain/core/refusal.ts';

export function rightList(given: string): Right[] {
  if (given === 'all') return [...RIGHTS];
  return given
    .split(',')
    .filter(Boolean)
    .map(
      (name) =>
        RIGHTS.find((right) => right === name) ??
        refuse(400, 'no_right', `${name} is no right. There are: ${RIGHTS.join(', ')}.`),
    );
}
