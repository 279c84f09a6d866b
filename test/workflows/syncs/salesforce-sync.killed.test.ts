import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { salesforceSyncUnderKill } from './salesforce-sync.kill.ts';

survivesKills(salesforceSyncUnderKill);
