import { feedAttributesSteps } from './feed-attributes.ts';
import { importAttributesSteps } from './import-attributes.ts';
import type { Needs } from './needs.ts';
import { runSyncSteps } from './run-sync.ts';
import { sweepSteps } from './sweep.ts';
import { syncTickSteps } from './sync-tick.ts';

/** Every step, bound to what it uses; a worker of any queue can run any of them. */
export function allSteps(needs: Needs) {
  return {
    ...importAttributesSteps(needs), ...feedAttributesSteps(needs), ...runSyncSteps(needs), ...syncTickSteps(needs), ...sweepSteps(needs),
  };
}
