import type { Life } from './life.ts';
import type { Walk } from './walk.ts';

/** What has to hold once a walk is over and nothing changes any more. */
export async function checkEndings(_life: Life, _walk: Walk, _say: (line: string) => void): Promise<void> {}
