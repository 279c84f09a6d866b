import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { hubspotSyncUnderKill } from './hubspot-sync.kill.ts';

survivesKills(hubspotSyncUnderKill);
