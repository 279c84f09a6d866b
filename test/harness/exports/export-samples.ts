import { mergeFeed } from '../../../activities/feed/feed-attributes.ts';
import type { ExportDataType } from '../../../domain/exports/export-data-type.ts';
import { personId } from '../core/people.ts';
import type { Stack } from '../core/stack.ts';
import { sampleCall, sampleEvent, takeIn } from '../tracking/tracked-calls.ts';
import type { ExportWorld } from './exports.ts';
import { insertSampleCampaign } from '../sends/campaigns.ts';

/** Within `DAY`. */
const RECEIVED = '2026-11-20T12:00:00.123Z';

/** Every type of data has rows of one day; returns how many. */
export async function ingestSamples({ store }: Stack, world: ExportWorld): Promise<Record<ExportDataType, number>> {
  const outcomes = await takeIn(store, world, [
    sampleCall(world, {
      second: 0,
      userId: personId(1),
      event: sampleEvent('Opened, "twice"'),
      context: { carrier: 'Some', appVersion: '1.2' },
    }),
    sampleCall(world, {
      second: 1,
      event: sampleEvent('Bought', { detail: { price: 3.5, tags: ['a', 'b'], note: 'one\ntwo' } }),
    }),
    sampleCall(world, { second: 2, event: sampleEvent('Plain', { detail: 'ünïcode' }) }),
    sampleCall(world, { second: 3, context: { latitude: 47.5, longitude: 8.5 } }),
    sampleCall(world, {
      second: 4,
      event: sampleEvent('Broken', { logType: 1, fingerprint: '01'.repeat(32), crashTitle: 'Broken', detail: null }),
    }),
    sampleCall(world, {
      second: 5,
      type: 'identify',
      event: null,
      userId: personId(1),
      traits: [
        { sor: 'app', key: 'plan', value: 'gold' },
        { sor: 'app', key: 'score', value: 12 },
      ],
    }),
  ]);
  if (outcomes.some((outcome) => outcome !== 'accepted'))
    throw new Error(`a sample was refused: ${JSON.stringify(outcomes)}`);
  const deps = {
    ...store,
    log: { info() {}, warn() {}, error() {} },
    countValues() {},
    batchRecords: 1_000,
    boundary() {},
  };
  while ((await mergeFeed(deps, world.entity.id)) !== null);
  const campaign = await insertSampleCampaign(store.db, world.entity.id, world.app.id);
  await store.db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, device_id, user_id)
     VALUES ($1, $2, $3, 'push', 'settled', 'OPT_OUT', $4, $5, $5)`,
    [world.entity.id, campaign.id, world.app.id, RECEIVED, personId(1)],
  );
  for (const table of ['events', 'sessions', 'locations', 'devices', 'attribute_change_log']) {
    await store.db.query(`UPDATE ${table} SET received_at = $2 WHERE entity_id = $1`, [world.entity.id, RECEIVED]);
  }
  await store.db.query('UPDATE attribute_values SET changed_at = $2 WHERE entity_id = $1', [world.entity.id, RECEIVED]);
  return {
    sessions: 1,
    sessions_with_carrier: 1,
    logs: 5,
    details: 4,
    locations: 1,
    devices: 1,
    crashes: 1,
    campaign_results_per_user: 1,
    attributes: 2,
  };
}
