import type { Field } from './contract.ts';

/** Returns whether a destination's field takes no values from a record that `key` identifies. */
export const takesNoValues = ({ name, takes_values }: Field, key: readonly string[]): boolean =>
  takes_values === 'never' || (takes_values === 'as_key' && !key.includes(name));

export function sayTakesNone(stream: string, { name, takes_values }: Field): string {
  const why = takes_values === 'as_key' ? ' unless it is part of the key' : '';
  return `The field ${name} of ${stream} takes no values${why}, since the destination makes them itself: leave it out in the mapping`;
}
