/**
 * Marks that every piece of sample data about a person carries: whatever shows one where it must not is
 * found by searching for them.
 */
export const PERSON_MARK = 'zqperson';
export const SECRET_MARK = 'zqsecret';

/** A customer id that the searches at the end of a run recognise. */
export function personId(number: number): string {
  return `${PERSON_MARK}-${number}@example.com`;
}
