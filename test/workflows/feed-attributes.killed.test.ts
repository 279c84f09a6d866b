import { survivesKills } from '../harness/under-kill.ts';
import { feedAttributesUnderKill } from './feed-attributes.kill.ts';

survivesKills(feedAttributesUnderKill);
