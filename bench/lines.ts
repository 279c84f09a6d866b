import { largeBodies, unverified } from './bodies.ts';
import { classicCampaign } from './campaigns.ts';
import { erasure } from './erasure.ts';
import { firstPaint, importPage } from './console.ts';
import { dailyExport } from './exports.ts';
import { jsonFeed } from './feed.ts';
import { funnel } from './funnel.ts';
import { hubspotSyncs } from './hubspot.ts';
import { csvImport, smallImport } from './imports.ts';
import { ingestion } from './ingestion.ts';
import type { Line } from './line.ts';
import { neighbours } from './neighbours.ts';
import { profiles } from './profiles.ts';
import { salesforceSyncs } from './salesforce.ts';
import { segment } from './segment.ts';
import { push } from './push.ts';
import { transactionalSend } from './sends.ts';
import { singerCsv } from './singer.ts';
import { warmStart } from './start.ts';
import { eventFiles, eventPages } from './read-events.ts';
import { postgresSync } from './syncs.ts';

/** In the order in which they are measured, by one service that lives through all of them, as a user's does. */
export const LINES: readonly Line[] = [
  warmStart,
  smallImport,
  firstPaint,
  importPage,
  unverified,
  largeBodies,
  csvImport,
  postgresSync,
  singerCsv,
  hubspotSyncs,
  salesforceSyncs,
  jsonFeed,
  ingestion,
  dailyExport,
  erasure,
  funnel,
  eventPages,
  eventFiles, // the same events
  segment,
  push,
  transactionalSend,
  classicCampaign,
  neighbours,
  profiles, // last: it empties the tables of the imports
];
