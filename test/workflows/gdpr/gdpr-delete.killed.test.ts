import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { gdprDeleteUnderKill } from './gdpr-delete.kill.ts';

survivesKills(gdprDeleteUnderKill);
