import { survivesKills } from '../harness/under-kill.ts';
import { importAttributesUnderKill } from './import-attributes.kill.ts';

survivesKills(importAttributesUnderKill);
