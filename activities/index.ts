/** Joins the steps of all workflows. */
import { accountMailSteps } from './accounts/account-mails.ts';
import { refreshSegmentsSteps } from './analytics/refresh-segments.ts';
import { runCampaignSteps } from './campaigns/run-campaign.ts';
import { heartbeating } from './core/heartbeat.ts';
import type { Dependencies } from './dependencies.ts';
import { exportDailySteps } from './exports/export-daily.ts';
import { feedAttributesSteps } from './feed/feed-attributes.ts';
import { buildFileSteps } from './files/build-file.ts';
import { gdprAccessSteps } from './gdpr/gdpr-access.ts';
import { gdprDeleteSteps } from './gdpr/gdpr-delete.ts';
import { gdprSweepSteps } from './gdpr/sweep.ts';
import { importAttributesSteps } from './imports/import-attributes.ts';
import { exportTickSteps, syncTickSteps } from './jobs/run-ticks.ts';
import { sweepSteps } from './jobs/sweep.ts';
import { aggregateReportsSteps } from './sends/aggregate-reports.ts';
import { SendingProviders } from './sends/sending-provider.ts';
import { sendTransactionalSteps } from './sends/send-transactional.ts';
import { runSyncSteps } from './syncs/run-sync.ts';

/** Every step, bound to what it uses; a worker of any queue can run any of them. */
export function allSteps(deps: Dependencies) {
  const providers = new SendingProviders(deps);
  return {
    ...importAttributesSteps(deps),
    ...feedAttributesSteps(deps),
    ...runSyncSteps(deps),
    ...syncTickSteps(deps),
    ...refreshSegmentsSteps(deps),
    ...sendTransactionalSteps(deps, providers),
    ...runCampaignSteps(deps, providers),
    ...aggregateReportsSteps(deps),
    ...buildFileSteps(deps),
    ...exportDailySteps(deps),
    ...exportTickSteps(deps),
    ...gdprAccessSteps(deps),
    ...gdprDeleteSteps(deps),
    ...heartbeatingEach(sweepSteps(deps)),
    ...heartbeatingEach(gdprSweepSteps(deps)),
    ...heartbeatingEach(accountMailSteps(deps)),
  };
}

/** Makes each step heartbeat, so that Temporal notices a dead worker within seconds. */
function heartbeatingEach<Steps extends Record<string, () => Promise<void>>>(steps: Steps): Steps {
  return Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, () => heartbeating(step)])) as Steps;
}
