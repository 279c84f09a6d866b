import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { runCampaignUnderKill } from './run-campaign.kill.ts';

survivesKills(runCampaignUnderKill);
