/** Systems of Records, and the revision by which merges notice changed attributes. */
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newApiKey, newIdentifier } from '../core/identifiers.ts';
import { idPieces } from '../core/id-pieces.ts';
import type { Secrets } from '../core/secrets.ts';
import { type CustomerAttribute, insertCustomerAttribute, listCustomerAttributesOf } from './customer-attributes.ts';
import { lockSorRules, RULES_LOCK } from './sor-rules-lock.ts';

export type SorType = 'app' | 'custom' | 'global';

export type SystemOfRecord = Row<
  'systems_of_records',
  'id' | 'identifier' | 'name' | 'type' | 'disabled' | 'revision' | 'updatedAt',
  {
    appId: number | null;
  }
>;

export type SorView = SystemOfRecord & { apiKeys: string[]; attributes: CustomerAttribute[] };

const COLUMNS = 'id, identifier, name, type, app_id, disabled, revision, updated_at';

/** Attributes of every entity's global SoR (reference: Customer profile). */
const GLOBAL_ATTRIBUTES: [key: string, valueType: ValueType][] = [
  ['first_name', 'String'],
  ['last_name', 'String'],
  ['email', 'String'],
  ['date_of_birth', 'Date'],
  ['gender', 'String'],
  ['country', 'String'],
  ['city', 'String'],
  ['region', 'String'],
  ['profile_picture_url', 'String'],
];

export async function insertGlobalSor(tx: Queryable, entityId: number): Promise<void> {
  const sor = await insertSor(tx, entityId, { name: 'Global', type: 'global' });
  for (const [key, valueType] of GLOBAL_ATTRIBUTES) {
    await insertCustomerAttribute(tx, entityId, sor.id, { key, label: labelOf(key), valueType });
  }
}

export async function insertCustomSor(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  name: string,
  createdBy: number,
): Promise<SystemOfRecord> {
  const sor = await insertSor(tx, entityId, { name, type: 'custom', createdBy });
  const apiKey = newApiKey();
  const lookup = secrets.lookup(apiKey);
  await tx.query(`INSERT INTO key_lookups (lookup, kind, entity_id, owner_id) VALUES ($1, 'sor', $2, $3)`, [
    lookup,
    entityId,
    sor.id,
  ]);
  await tx.query('INSERT INTO sor_api_keys (entity_id, sor_id, lookup, api_key) VALUES ($1, $2, $3, $4)', [
    entityId,
    sor.id,
    lookup,
    secrets.seal(apiKey, keyCell(entityId, sor.id)),
  ]);
  return sor;
}

/** Inserts the SoR for an app's SDK, named after the app, and locks the app meanwhile. */
export async function insertAppSor(tx: Queryable, entityId: number, appId: number): Promise<SystemOfRecord> {
  const { rows } = await tx.query<Row<'apps', 'name'>>(
    'SELECT name FROM apps WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE',
    [entityId, appId],
  );
  return insertSor(tx, entityId, { name: rows[0]!.name, type: 'app', appId });
}

type NewSor = { name: string; type: SorType; createdBy?: number; appId?: number };

async function insertSor(
  tx: Queryable,
  entityId: number,
  { name, type, createdBy, appId }: NewSor,
): Promise<SystemOfRecord> {
  return readRow<SystemOfRecord>(
    await tx.query(
      `INSERT INTO systems_of_records (entity_id, identifier, name, type, created_by, app_id) VALUES ($1, $2, $3, $4, $5, $6)
     RETURNING ${COLUMNS}`,
      [entityId, newIdentifier('sor'), name, type, createdBy ?? null, appId ?? null],
    ),
  )!;
}

export async function listSors(db: Queryable, entityId: number, types: SorType[]): Promise<SystemOfRecord[]> {
  return readRows<SystemOfRecord>(
    await db.query(
      `SELECT ${COLUMNS} FROM systems_of_records
     WHERE entity_id = $1 AND type = ANY($2) AND deleted_at IS NULL ORDER BY id`,
      [entityId, types],
    ),
  );
}

export async function findSor(db: Queryable, entityId: number, identifier: string): Promise<SystemOfRecord | null> {
  return readRow<SystemOfRecord>(
    await db.query(
      `SELECT ${COLUMNS} FROM systems_of_records WHERE entity_id = $1 AND identifier = $2 AND deleted_at IS NULL`,
      [entityId, identifier],
    ),
  );
}

/** Finds a SoR and locks it until the transaction ends: against other changes and merges. */
export async function lockSor(tx: Queryable, entityId: number, identifier: string): Promise<SystemOfRecord | null> {
  const found = await findSor(tx, entityId, identifier);
  if (!found) return null;
  await lockSorRules(tx, found.id);
  return readRow<SystemOfRecord>(
    await tx.query(
      `SELECT ${COLUMNS} FROM systems_of_records WHERE entity_id = $1 AND identifier = $2 AND deleted_at IS NULL FOR UPDATE`,
      [entityId, identifier],
    ),
  );
}

export async function listSorNames(
  db: Queryable,
  entityId: number,
  ids: number[],
): Promise<Map<number, { identifier: string; name: string; type: SorType }>> {
  const { rows } = await db.query<Row<'systems_of_records', 'id' | 'identifier' | 'name' | 'type'>>(
    'SELECT id, identifier, name, type FROM systems_of_records WHERE entity_id = $1 AND id = ANY ($2) AND deleted_at IS NULL',
    [entityId, ids],
  );
  return new Map(rows.map(({ id, identifier, name, type }) => [id, { identifier, name, type }]));
}

export async function listSorIds(db: Queryable, entityId: number, identifiers: string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<Row<'systems_of_records', 'id' | 'identifier'>>(
    'SELECT id, identifier FROM systems_of_records WHERE entity_id = $1 AND identifier = ANY ($2) AND deleted_at IS NULL',
    [entityId, identifiers],
  );
  return new Map(rows.map(({ id, identifier }) => [identifier, id]));
}

/** Returns null once the SoR is deleted; accepted work must then say so. */
export async function findSorById(db: Queryable, entityId: number, id: number): Promise<SystemOfRecord | null> {
  return readRow<SystemOfRecord>(
    await db.query(
      `SELECT ${COLUMNS} FROM systems_of_records WHERE entity_id = $1 AND id = $2 AND deleted_at IS NULL`,
      [entityId, id],
    ),
  );
}

/** Returns the SoR's revision and holds it until the transaction ends; null once it is deleted. */
export async function holdSorRevision(tx: Queryable, entityId: number, id: number): Promise<number | null> {
  await tx.query('SELECT pg_advisory_xact_lock_shared($1, $2)', [RULES_LOCK, id]);
  const { rows } = await tx.query<Row<'systems_of_records', 'revision'>>(
    'SELECT revision FROM systems_of_records WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
  return rows[0]?.revision ?? null;
}

/** `identifier` null: any System of Records with the key. */
export type ShownKey = { identifier: string | null; apiKey: string };
export type SorOfKey = SystemOfRecord & Row<'systems_of_records', 'entityId'>;

/** Returns the SoR of each API key, in any entity; null if key and identifier don't match. */
export async function findSorsByApiKeys(
  db: Queryable,
  secrets: Secrets,
  shown: ShownKey[],
): Promise<(SorOfKey | null)[]> {
  const lookups = shown.map(({ apiKey }) => secrets.lookup(apiKey));
  const found = readRows<SorOfKey & { lookup: Buffer }>(
    await db.query({
      // Planned once a session, because each request of a feed runs it.
      name: 'find-sors-by-keys',
      text: `SELECT k.lookup, s.entity_id, s.id, s.identifier, s.name, s.type, s.app_id, s.disabled, s.revision, s.updated_at
     FROM key_lookups k JOIN systems_of_records s ON s.entity_id = k.entity_id AND s.id = k.owner_id
     JOIN entities e ON e.id = s.entity_id AND e.active
     WHERE k.lookup = ANY ($1::bytea[]) AND k.kind = 'sor' AND s.deleted_at IS NULL`,
      values: [lookups],
    }),
  );
  return shown.map(({ identifier }, index) => {
    return (
      found.find(
        (sor) => sor.lookup.equals(lookups[index]!) && (identifier === null || sor.identifier === identifier),
      ) ?? null
    );
  });
}

const VIEW_BYTES = `octet_length(r::text) + coalesce((
  SELECT sum(octet_length(c::text)) FROM customer_attributes c
  WHERE c.entity_id = r.entity_id AND c.sor_id = r.id AND c.deleted_at IS NULL), 0)`;

/** Yields SoRs as `listSors` in pieces, with what `viewSors` adds. */
export async function* streamSors(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  types: SorType[],
): AsyncGenerator<SorView[]> {
  const sors = new Map((await listSors(db, entityId, types)).map((sor) => [sor.id, sor]));
  for await (const ids of idPieces(db, entityId, 'systems_of_records', [...sors.keys()], VIEW_BYTES)) {
    yield viewSors(
      db,
      secrets,
      entityId,
      ids.map((id) => sors.get(id)!),
    );
  }
}

export async function viewSors(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  sors: SystemOfRecord[],
): Promise<SorView[]> {
  const ids = sors.map(({ id }) => id);
  const keys = readRows<Row<'sor_api_keys', 'sorId' | 'apiKey'>>(
    await db.query(
      'SELECT sor_id, api_key FROM sor_api_keys WHERE entity_id = $1 AND sor_id = ANY($2) ORDER BY created_at, lookup',
      [entityId, ids],
    ),
  );
  const attributes = await listCustomerAttributesOf(db, entityId, ids);
  return sors.map((sor) => ({
    ...sor,
    apiKeys: keys
      .filter((key) => key.sorId === sor.id)
      .map((key) => secrets.open(key.apiKey, keyCell(entityId, sor.id))),
    attributes: attributes.filter((attribute) => attribute.sorId === sor.id),
  }));
}

export async function renameSor(db: Queryable, entityId: number, id: number, name: string): Promise<SystemOfRecord> {
  return updateSor(db, entityId, id, 'name = $3', name);
}

export async function updateSorDisabled(
  db: Queryable,
  entityId: number,
  id: number,
  disabled: boolean,
): Promise<SystemOfRecord> {
  return updateSor(db, entityId, id, 'disabled = $3', disabled);
}

/** Returns the addresses for mails about its imports; by default its creator's. */
export async function findNotifyEmails(db: Queryable, entityId: number, id: number): Promise<string[]> {
  const rows = readRows<Row<'systems_of_records', 'notifyEmails'>>(
    await db.query('SELECT notify_emails FROM systems_of_records WHERE entity_id = $1 AND id = $2', [entityId, id]),
  );
  return rows[0]!.notifyEmails;
}

export async function updateNotifyEmails(db: Queryable, entityId: number, id: number, emails: string[]): Promise<void> {
  await db.query(
    'UPDATE systems_of_records SET notify_emails = $3, updated_at = now() WHERE entity_id = $1 AND id = $2',
    [entityId, id, emails],
  );
}

/** Deletes a SoR: nothing finds it any more, and `deleteRemains` deletes its values and keys in batches. */
export async function deleteSor(tx: Queryable, entityId: number, id: number): Promise<void> {
  await lockSorRules(tx, id);
  await tx.query(
    'UPDATE systems_of_records SET deleted_at = now(), revision = revision + 1 WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
  await tx.query(`DELETE FROM key_lookups WHERE entity_id = $1 AND kind = 'sor' AND owner_id = $2`, [entityId, id]);
}

async function updateSor(
  db: Queryable,
  entityId: number,
  id: number,
  assignment: 'name = $3' | 'disabled = $3',
  value: string | boolean,
): Promise<SystemOfRecord> {
  await lockSorRules(db, id);
  return readRow<SystemOfRecord>(
    await db.query(
      `UPDATE systems_of_records SET ${assignment}, revision = revision + 1, updated_at = now()
     WHERE entity_id = $1 AND id = $2 RETURNING ${COLUMNS}`,
      [entityId, id, value],
    ),
  )!;
}

function keyCell(entityId: number, sorId: number) {
  return { table: 'sor_api_keys', column: 'api_key', entityId, row: String(sorId) };
}

function labelOf(key: string): string {
  const words = key.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}
