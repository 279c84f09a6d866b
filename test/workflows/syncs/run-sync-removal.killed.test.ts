import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { removalUnderKill } from './run-sync-removal.kill.ts';

survivesKills(removalUnderKill);
