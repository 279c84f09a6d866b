import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { exportDailyUnderKill } from './export-daily.kill.ts';

survivesKills(exportDailyUnderKill);
