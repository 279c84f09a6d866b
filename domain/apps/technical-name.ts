import { MAX_CODE_POINTS } from '../text/text-limits.ts';

const TECHNICAL_NAME = new RegExp(`^[a-z_]{1,${MAX_CODE_POINTS}}$`);

/** Returns whether a text is a technical name: a-z and underscores (reference: Data wallet records). */
export function isTechnicalName(name: string): boolean {
  return TECHNICAL_NAME.test(name);
}
