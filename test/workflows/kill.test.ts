import { survivesKills } from '../harness/under-kill.ts';
import { exportDailyUnderKill } from './export-daily.kill.ts';
import { feedAttributesUnderKill } from './feed-attributes.kill.ts';
import { gdprAccessUnderKill } from './gdpr-access.kill.ts';
import { gdprDeleteUnderKill } from './gdpr-delete.kill.ts';
import { importAttributesUnderKill } from './import-attributes.kill.ts';
import { runSyncUnderKill } from './run-sync.kill.ts';

survivesKills(importAttributesUnderKill);
survivesKills(feedAttributesUnderKill);
survivesKills(runSyncUnderKill);
survivesKills(exportDailyUnderKill);
survivesKills(gdprDeleteUnderKill);
survivesKills(gdprAccessUnderKill);
