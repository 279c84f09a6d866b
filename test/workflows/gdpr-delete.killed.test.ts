import { survivesKills } from '../harness/under-kill.ts';
import { gdprDeleteUnderKill } from './gdpr-delete.kill.ts';

survivesKills(gdprDeleteUnderKill);
