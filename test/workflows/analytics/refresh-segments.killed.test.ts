import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { refreshSegmentsUnderKill } from './refresh-segments.kill.ts';

survivesKills(refreshSegmentsUnderKill);
