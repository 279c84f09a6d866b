import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { buildFileUnderKill } from './build-file.kill.ts';

survivesKills(buildFileUnderKill);
