import { survivesKills } from '../harness/under-kill.ts';
import { gdprAccessUnderKill } from './gdpr-access.kill.ts';

survivesKills(gdprAccessUnderKill);
