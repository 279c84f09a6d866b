import { survivesKills } from '../harness/under-kill.ts';
import { exportDailyUnderKill } from './export-daily.kill.ts';

survivesKills(exportDailyUnderKill);
