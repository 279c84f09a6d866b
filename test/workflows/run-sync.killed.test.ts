import { survivesKills } from '../harness/under-kill.ts';
import { runSyncUnderKill } from './run-sync.kill.ts';

survivesKills(runSyncUnderKill);
