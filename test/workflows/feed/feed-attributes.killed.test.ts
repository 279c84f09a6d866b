import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { feedAttributesUnderKill } from './feed-attributes.kill.ts';

survivesKills(feedAttributesUnderKill);
