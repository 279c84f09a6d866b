import { MAX_CODE_POINTS } from '../text/text-limits.ts';

const TECHNICAL_NAME = new RegExp(`^[a-z_]{1,${MAX_CODE_POINTS}}$`);

/**
 * By what the parts of a data wallet are named (reference: Data wallet records): lowercase letters of ASCII and
 * underscores.
 */
export function isTechnicalName(name: string): boolean {
  return TECHNICAL_NAME.test(name);
}
