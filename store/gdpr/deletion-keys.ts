import { randomBytes } from 'node:crypto';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

const KEY_BYTES = 32;

type KeyRow = { identifier: string; deletion_key: string | null; is_deleted: boolean };
type Exporter = { entityId: number; id: number };

/**
 * The key under which lists of whom to delete name people in an exporter's bucket, in hexadecimal; drawn when it is
 * first asked for. Null: the exporter is deleted. Whoever shows it writes that down in the audit log.
 */
export async function findDeletionKey(tx: Queryable, secrets: Secrets, exporter: Exporter): Promise<string | null> {
  const row = await findRow(tx, exporter);
  if (!row || row.is_deleted) return null;
  const sealed = row.deletion_key ?? (await drawKey(tx, secrets, exporter, row.identifier));
  return secrets.open(sealed, cellOf(exporter, row.identifier));
}

/** Of two who draw one, the first one's counts. */
async function drawKey(tx: Queryable, secrets: Secrets, exporter: Exporter, identifier: string): Promise<string> {
  const drawn = secrets.seal(randomBytes(KEY_BYTES).toString('hex'), cellOf(exporter, identifier));
  const {
    rows: [row],
  } = await tx.query<{ deletion_key: string }>(
    `UPDATE data_exporters SET deletion_key = coalesce(deletion_key, $3) WHERE entity_id = $1 AND id = $2 RETURNING deletion_key`,
    [exporter.entityId, exporter.id, drawn],
  );
  return row!.deletion_key;
}

async function findRow(tx: Queryable, { entityId, id }: Exporter): Promise<KeyRow | undefined> {
  const { rows } = await tx.query<KeyRow>(
    `SELECT identifier, deletion_key, deleted_at IS NOT NULL AS is_deleted FROM data_exporters WHERE entity_id = $1 AND id = $2`,
    [entityId, id],
  );
  return rows[0];
}

function cellOf({ entityId }: Exporter, identifier: string) {
  return { table: 'data_exporters', column: 'deletion_key', entityId, row: identifier };
}
