import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { runSyncUnderKill } from './run-sync.kill.ts';

survivesKills(runSyncUnderKill);
