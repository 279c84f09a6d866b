import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { gdprAccessUnderKill } from './gdpr-access.kill.ts';

survivesKills(gdprAccessUnderKill);
