import { accountMailSteps } from './account-mails.ts';
import { exportDailySteps } from './export-daily.ts';
import { exportTickSteps } from './export-tick.ts';
import { feedAttributesSteps } from './feed-attributes.ts';
import { gdprAccessSteps } from './gdpr-access.ts';
import { gdprSweepSteps } from './gdpr/sweep.ts';
import { gdprDeleteSteps } from './gdpr-delete.ts';
import { heartbeating } from './heartbeat.ts';
import { importAttributesSteps } from './import-attributes.ts';
import type { Needs } from './needs.ts';
import { runSyncSteps } from './run-sync.ts';
import { sweepSteps } from './sweep.ts';
import { syncTickSteps } from './sync-tick.ts';

/** Every step, bound to what it uses; a worker of any queue can run any of them. */
export function allSteps(needs: Needs) {
  return {
    ...importAttributesSteps(needs), ...feedAttributesSteps(needs), ...runSyncSteps(needs), ...syncTickSteps(needs),
    ...exportDailySteps(needs), ...exportTickSteps(needs), ...gdprAccessSteps(needs), ...gdprDeleteSteps(needs),
    ...heartbeatingEach(sweepSteps(needs)), ...heartbeatingEach(gdprSweepSteps(needs)),
    ...heartbeatingEach(accountMailSteps(needs)),
  };
}

/** So the death of its worker is noticed within seconds, and the next sweep is not kept waiting by a step that nobody runs. */
function heartbeatingEach<Steps extends Record<string, () => Promise<void>>>(steps: Steps): Steps {
  return Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, () => heartbeating(step)])) as Steps;
}
