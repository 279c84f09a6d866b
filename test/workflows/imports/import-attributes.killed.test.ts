import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { importAttributesUnderKill } from './import-attributes.kill.ts';

survivesKills(importAttributesUnderKill);
