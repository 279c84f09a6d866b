import type { Database } from '../../../store/core/database.ts';

/**
 * Rows in every table that has an entity, as the catalog describes them: a table that a migration adds joins by itself.
 */

type Column = { name: string; type: string; is_needed: boolean };
type Reference = { parent: string; columns: string[]; referenced: string[] };
type Table = { name: string; columns: Column[]; references: Reference[] };

/** Values of columns whose check refuses the sample of their type, or that need one of several columns. */
const SAMPLES: Record<string, string> = {
  'audit_log.actor_kind': `'system'`,
  'gdpr_identifiers.kind': `'user_id'`,
  'gdpr_left_identifiers.kind': `'user_id'`,
  'gdpr_identifiers.origin': `'asked'`,
  'gdpr_left_identifiers.reason': `'shared'`,
  'gdpr_mails.kind': `'held'`,
  'label_targets.target_kind': `'segment'`,
  'live_calls.outcome': `'accepted'`,
  'push_outcome_days.outcome': `'sent'`,
  'push_providers.platform': `'ios'`,
  'run_alerts.sync_run_id': 'NULL',
  'tombstone_batches.kind': `'raised'`,
};

const OF_TYPE: Record<string, string> = {
  smallint: '1',
  integer: '1',
  bigint: '1',
  'double precision': '1',
  text: `'x'`,
  bytea: `'x'`,
  boolean: 'false',
  uuid: 'gen_random_uuid()',
  jsonb: `'{}'`,
  json: `'{}'`,
  date: 'current_date',
  'timestamp with time zone': 'now()',
};

/** Lists the tables with a column `entity_id`. */
export async function listTablesOfEntities(db: Database): Promise<Table[]> {
  const { rows } = await db.query<Table>(
    `SELECT c.relname AS name,
       (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, NULL),
           'is_needed', a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = ''))
         FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
       (SELECT coalesce(json_agg(json_build_object('parent', f.confrelid::regclass::text,
           'columns', (SELECT json_agg(a.attname ORDER BY k.n) FROM unnest(f.conkey) WITH ORDINALITY k (num, n)
             JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.num),
           'referenced', (SELECT json_agg(a.attname ORDER BY k.n) FROM unnest(f.confkey) WITH ORDINALITY k (num, n)
             JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.num))), '[]')
         FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conparentid = 0) AS "references"
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
     JOIN pg_attribute e ON e.attrelid = c.oid AND e.attname = 'entity_id' AND NOT e.attisdropped
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`,
  );
  return rows;
}

/** Adds a row to each table in which the entity has none. Throws with the reasons if it can't fill them all. */
export async function fillTablesOf(db: Database, entityId: number): Promise<void> {
  // A table waits for the tables that it refers to.
  for (let open = await listTablesOfEntities(db); open.length > 0;) {
    const failed: Table[] = [];
    const reasons: string[] = [];
    for (const table of open) {
      await insertRow(db, table, entityId).catch((error: unknown) => {
        failed.push(table);
        reasons.push(`${table.name}: ${String(error)}`);
      });
    }
    if (failed.length === open.length) throw new Error(reasons.join('\n'));
    open = failed;
  }
}

async function insertRow(db: Database, { name, columns, references }: Table, entityId: number): Promise<void> {
  if ((await db.query(`SELECT FROM ${name} WHERE entity_id = $1 LIMIT 1`, [entityId])).rowCount! > 0) return;
  const needed = columns.filter(
    ({ name: column, is_needed: isNeeded }) => isNeeded || SAMPLES[`${name}.${column}`] !== undefined,
  );
  const values = new Map(
    needed.map(({ name: column, type }) => [
      column,
      SAMPLES[`${name}.${column}`] ?? (type.endsWith('[]') ? `'{}'` : OF_TYPE[type]!),
    ]),
  );
  for (const { parent, columns: own, referenced } of references) {
    const column = own.at(-1)!;
    if (values.has(column))
      values.set(
        column,
        `(SELECT ${referenced.at(-1)!} FROM ${parent} ${
          parent === 'entities' ? '' : `WHERE ${referenced.includes('entity_id') ? 'entity_id = $1' : 'true'}`
        } ORDER BY 1 LIMIT 1)`,
      );
  }
  values.set('entity_id', '$1');
  await db.query(`INSERT INTO ${name} (${[...values.keys()].join(', ')}) VALUES (${[...values.values()].join(', ')})`, [
    entityId,
  ]);
}
