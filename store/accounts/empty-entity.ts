import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/**
 * Tables that do not keep an entity from being deleted: its users and keys, its global SoR, what was written down about
 * it or proved, its apps with what was set up beside them (segments, funnels, campaigns), and records of past work that
 * Millrace deletes after a time by itself and that name no file: what was sent, calls that were refused, ids of
 * messages, runs of deleted exporters. `listHoldings` looks into any other table, also those that later migrations
 * bring.
 */
const OF_EMPTY_ENTITIES = [
  'memberships',
  'invitations',
  'tokens',
  'service_tokens',
  'systems_of_records',
  'customer_attributes',
  'tombstones',
  'tombstone_batches',
  'audit_log',
  'gdpr_receipts',
  'export_deletions',
  'idempotent_requests',
  'connections',
  'syncs',
  'key_lookups',
  'apps',
  'app_groups',
  'app_group_members',
  'app_api_keys',
  'app_token_keys',
  'push_certificates',
  'push_providers',
  'event_definitions',
  'labels',
  'label_targets',
  'funnels',
  'campaigns',
  'sends',
  'send_campaigns',
  'campaign_people',
  'campaign_days',
  'control_group_days',
  'report_rollups',
  'send_paces',
  'outcome_deliveries',
  'notify_mails',
  'tracked_counts',
  'segments',
  'segment_uses',
  'segment_members',
  'send_messages',
  'attempts',
  'event_messages',
  'ingested_batches',
  'refused_calls',
  'live_calls',
  'feed_waits',
  'deleted_entities',
  'provider_refusals',
  'internal_errors',
  'step_attempts',
  'run_alerts',
  'wallet_settings',
  'wallet_texts',
  'wallet_recipients',
  'wallet_elements',
  'wallet_purpose_elements',
  'data_exporters',
  'export_runs',
  'export_records',
  'export_files',
];

/**
 * What counts in tables of which something is in empty entities, too: not the SoRs that come with an entity and its
 * apps, and not campaigns and sends that send nothing.
 */
const HELD_IN_PART = {
  systems_of_records: "(type = 'custom' OR deleted_at IS NOT NULL)",
  connections: 'deleted_at IS NULL',
  syncs: 'deleted_at IS NULL',
  data_exporters: 'deleted_at IS NULL',
  campaigns: `status IN ('scheduled', 'wait_sync', 'ongoing') AND test_of IS NULL
    AND NOT (type = 'transactional' AND includes_inapp AND end_date <= now())`,
  sends: "state IN ('accepted', 'running')",
};

/**
 * The names of tables in which something of the entity lies; nothing comes in meanwhile where the caller has locked it
 * (`lockEntity`).
 */
export async function listHoldings(tx: Queryable, entityId: number): Promise<string[]> {
  const { rows: tables } = await tx.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'entity_id' AND NOT a.attisdropped
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL ($1) ORDER BY c.relname`,
    [OF_EMPTY_ENTITIES],
  );
  const held: string[] = [];
  for (const { name } of tables) {
    const { rows } = await tx.query(`SELECT FROM "${name}" WHERE entity_id = $1 LIMIT 1`, [entityId]);
    if (rows.length > 0) held.push(name);
  }
  for (const [name, condition] of Object.entries(HELD_IN_PART)) {
    const { rows } = await tx.query(`SELECT FROM ${name} WHERE entity_id = $1 AND ${condition} LIMIT 1`, [entityId]);
    if (rows.length > 0) held.push(name);
  }
  return held;
}

/**
 * Deletes an entity that is empty, with its apps, its memberships and invitations, and the users who belonged to no
 * other. The sweep deletes the rows that no foreign key ties to it.
 */
export async function deleteEntity(tx: Queryable, entityId: number): Promise<void> {
  const { rows } = await tx.query<Row<'users', 'id'>>(
    `SELECT u.id FROM users u JOIN memberships m ON m.user_id = u.id WHERE m.entity_id = $1 ORDER BY u.id FOR UPDATE OF u`,
    [entityId],
  );
  // Before the entity: its look-ups would go before the keys that refer to them.
  await tx.query('DELETE FROM tracked_counts WHERE entity_id = $1', [entityId]);
  await tx.query('DELETE FROM apps WHERE entity_id = $1', [entityId]);
  await tx.query('DELETE FROM entities WHERE id = $1', [entityId]);
  await tx.query('INSERT INTO deleted_entities (entity_id) VALUES ($1) ON CONFLICT DO NOTHING', [entityId]);
  await tx.query(
    'DELETE FROM users u WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM memberships WHERE user_id = u.id)',
    [rows.map(({ id }) => id)],
  );
}
