import { fileURLToPath } from 'node:url';

/** Where bundles of workflows are kept from run to run, as long as what they are made of stays the same. */
export const BUNDLES = fileURLToPath(new URL('../../node_modules/.cache/workflows', import.meta.url));
