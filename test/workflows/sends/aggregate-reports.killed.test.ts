import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { aggregateReportsUnderKill } from './aggregate-reports.kill.ts';

survivesKills(aggregateReportsUnderKill);
