import { survivesKills } from '../harness/under-kill.ts';
import { exportDailyUnderKill } from './export-daily.kill.ts';
import { feedAttributesUnderKill } from './feed-attributes.kill.ts';
import { importAttributesUnderKill } from './import-attributes.kill.ts';
import { runSyncUnderKill } from './run-sync.kill.ts';

survivesKills(importAttributesUnderKill);
survivesKills(feedAttributesUnderKill);
survivesKills(runSyncUnderKill);
survivesKills(exportDailyUnderKill);
