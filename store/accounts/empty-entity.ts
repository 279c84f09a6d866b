/** Deletes an empty entity, and lists what keeps an entity from being deleted. */
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/**
 * Tables whose rows don't keep an entity from being deleted: users, keys, audit, receipts, apps' settings, past work.
 * `listHoldings` checks all others, also those of later migrations.
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
  'push_outcome_days',
  'control_group_days',
  'report_rollups',
  'send_paces',
  'outcome_deliveries',
  'notify_mails',
  'tracked_counts',
  'segments',
  'segment_uses',
  'segment_members',
  'segment_days',
  'segment_changes',
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

/** Conditions for tables in which an empty entity has some rows, too. */
const HELD_IN_PART = {
  systems_of_records: "(type = 'custom' OR deleted_at IS NOT NULL)",
  connections: 'deleted_at IS NULL',
  syncs: 'deleted_at IS NULL',
  data_exporters: 'deleted_at IS NULL',
  campaigns: `status IN ('scheduled', 'wait_sync', 'ongoing') AND test_of IS NULL
    AND NOT (type = 'transactional' AND includes_inapp AND end_date <= now())`,
  sends: "state IN ('accepted', 'running')",
};

/** Lists tables in which the entity has rows. After `lockEntity` no rows are added meanwhile. */
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

/** Deletes an empty entity, and users without another one. The sweep deletes rows without a foreign key to it. */
export async function deleteEntity(tx: Queryable, entityId: number): Promise<void> {
  const { rows } = await tx.query<Row<'users', 'id'>>(
    `SELECT u.id FROM users u JOIN memberships m ON m.user_id = u.id WHERE m.entity_id = $1 ORDER BY u.id FOR UPDATE OF u`,
    [entityId],
  );
  // First, because deleting the entity deletes the look-ups before the keys that refer to them.
  await tx.query('DELETE FROM tracked_counts WHERE entity_id = $1', [entityId]);
  await tx.query('DELETE FROM apps WHERE entity_id = $1', [entityId]);
  await tx.query('DELETE FROM entities WHERE id = $1', [entityId]);
  await tx.query('INSERT INTO deleted_entities (entity_id) VALUES ($1) ON CONFLICT DO NOTHING', [entityId]);
  await tx.query(
    'DELETE FROM users u WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM memberships WHERE user_id = u.id)',
    [rows.map(({ id }) => id)],
  );
}
