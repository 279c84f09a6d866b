import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A mark that every piece of sample data about a person carries: whatever shows it where it must not is
 * found by searching for it at the end of the run.
 */
export const PERSON_MARK = 'zqperson';

/** Within the run's folder: the secrets that tests have used, a line each. */
export const SECRETS_FILE = 'secrets.list';

/** A customer id that carries the mark. */
export function personId(number: number): string {
  return `${PERSON_MARK}-${number}@example.com`;
}

/** Has the search at the end of the run look for this secret, too. */
export function rememberSecret(secret: string): void {
  appendFileSync(join(inject('runFolder'), SECRETS_FILE), `${secret}\n`);
}
