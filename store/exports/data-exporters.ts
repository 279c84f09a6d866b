// Exporters: their definitions by callers, and their secrets.
import { type CreatorColumns, creatorOf, type PauseColumns, pauseOf, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import { ownersOf } from '../jobs/run-owners.ts';
import type { DataExporter, ExporterSecrets, NewExporter } from './data-exporter-record.ts';

/** Columns of data_exporters, with the creator. */
type ExporterColumns = Omit<DataExporter, 'region' | 'accountId' | 'roleName' | 'paused' | 'createdBy'> &
  Row<
    'data_exporters',
    | 'awsRegion'
    | 'awsAccountId'
    | 'awsRoleName'
    | 'awsAccessKeyId'
    | 'awsSecretAccessKey'
    | 'encryptionKey'
    | 'deletionKey'
  > &
  PauseColumns &
  CreatorColumns;

function toExporter({
  awsRegion: region,
  awsAccountId: accountId,
  awsRoleName: roleName,
  awsAccessKeyId: _accessKeyId,
  awsSecretAccessKey: _secretAccessKey,
  encryptionKey: _encryptionKey,
  deletionKey: _deletionKey,
  ...exporter
}: ExporterColumns): DataExporter {
  return { ...exporter, region, accountId, roleName, paused: pauseOf(exporter), createdBy: creatorOf(exporter) };
}

export const exporters = ownersOf<DataExporter>({
  table: 'data_exporters',
  toOwner: toExporter,
  held: 'NO KEY UPDATE',
  isScheduled: 'o.active',
});
export const {
  list: listExporters,
  find: findExporter,
  findById: findExporterById,
  lock: lockExporter,
  lockById: lockExporterById,
  updatePaused,
  updateFailures,
  updateScheduledUntil,
} = exporters;

/** Columns of a definition in the order of `definitionValues`, then its secrets in that of `sealed`. */
const DEFINITION = [
  'name',
  'type',
  'bucket_name',
  'subfolder',
  'aws_region',
  'endpoint',
  'aws_account_id',
  'aws_role_name',
  'app_ids',
  'sor_ids',
  'exported_data',
  'format',
  'include_headers',
  'encryption_type',
  'part_bytes',
  'exports_since',
  'notify_emails',
  'notify_connections',
  'server_side_encryption',
  'kms_key_id',
  'content_md5',
] as const;
const SECRETS = ['aws_access_key_id', 'aws_secret_access_key', 'encryption_key'] as const;
const COLUMNS = [...DEFINITION, ...SECRETS];
const PLACES = COLUMNS.map((_, index) => `$${index + 3}`);

function definitionValues(exporter: NewExporter): unknown[] {
  return [
    exporter.name,
    exporter.type,
    exporter.bucketName,
    exporter.subfolder,
    exporter.region,
    exporter.endpoint,
    exporter.accountId,
    exporter.roleName,
    exporter.appIds,
    exporter.sorIds,
    exporter.exportedData,
    exporter.format,
    exporter.includeHeaders,
    exporter.encryptionType,
    exporter.partBytes,
    exporter.exportsSince,
    exporter.notifyEmails,
    exporter.notifyConnections,
    exporter.serverSideEncryption,
    exporter.kmsKeyId,
    exporter.contentMd5,
  ];
}

type SealedColumn = (typeof SECRETS)[number];
type SealedRow = Record<SealedColumn, string | null>;

function cellOf(entityId: number, identifier: string, column: SealedColumn) {
  return { table: 'data_exporters', column, entityId, row: identifier };
}

function sealed(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { accessKeyId, secretAccessKey, encryptionKey }: ExporterSecrets,
): (string | null)[] {
  return [accessKeyId, secretAccessKey, encryptionKey].map(
    (value, index) => value && secrets.seal(value, cellOf(entityId, identifier, SECRETS[index]!)),
  );
}

/** Counts them, and lets none be added until the transaction ends. */
export async function lockExporterCount(tx: Queryable, entityId: number): Promise<number> {
  // Additions wait for each other here; what only refers to the entity does not.
  await tx.query('SELECT FROM entities WHERE id = $1 FOR NO KEY UPDATE', [entityId]);
  return exporters.count(tx, entityId);
}

export async function insertExporter(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  exporter: NewExporter & { secrets: ExporterSecrets; createdBy: number },
): Promise<DataExporter> {
  const identifier = newIdentifier('exp');
  await tx.query(
    `INSERT INTO data_exporters (entity_id, identifier, ${COLUMNS.join(', ')}, created_by)
     VALUES ($1, $2, ${PLACES.join(', ')}, $${COLUMNS.length + 3})`,
    [
      entityId,
      identifier,
      ...definitionValues(exporter),
      ...sealed(secrets, entityId, identifier, exporter.secrets),
      exporter.createdBy,
    ],
  );
  return (await findExporter(tx, entityId, identifier))!;
}

export async function updateExporter(
  tx: Queryable,
  secrets: Secrets,
  { entityId, id, identifier }: DataExporter,
  exporter: NewExporter & { secrets: ExporterSecrets },
): Promise<void> {
  const assigned = COLUMNS.map((column, index) => `${column} = ${PLACES[index]!}`).join(', ');
  await tx.query(
    `UPDATE data_exporters SET ${assigned}, revision = revision + 1, scheduled_until = NULL, updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, ...definitionValues(exporter), ...sealed(secrets, entityId, identifier, exporter.secrets)],
  );
}

/** Returns the secrets in plain text. A caller that shows them writes an audit entry. */
export async function openExporterSecrets(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  id: number,
): Promise<ExporterSecrets> {
  const {
    rows: [row],
  } = await db.query<SealedRow & { identifier: string }>(
    `SELECT x.identifier, ${SECRETS.map((column) => `x.${column}`).join(', ')} FROM data_exporters x WHERE x.entity_id = $1 AND x.id = $2`,
    [entityId, id],
  );
  const open = (column: SealedColumn) => {
    const value = row?.[column] ?? null;
    return value && secrets.open(value, cellOf(entityId, row!.identifier, column));
  };
  return {
    accessKeyId: open('aws_access_key_id'),
    secretAccessKey: open('aws_secret_access_key'),
    encryptionKey: open('encryption_key'),
  };
}

/** Activates or deactivates; an activated one is not paused, and no failure is counted. */
export async function updateActive(tx: Queryable, entityId: number, id: number, active: boolean): Promise<void> {
  await tx.query(
    `UPDATE data_exporters SET active = $3, revision = revision + 1, scheduled_until = NULL, updated_at = now(),
       paused_at = CASE WHEN $3 THEN NULL ELSE paused_at END, paused_reason = CASE WHEN $3 THEN NULL ELSE paused_reason END,
       failures = CASE WHEN $3 THEN 0 ELSE failures END
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, active],
  );
}

/** Stores that all before `until` is exported; the cursor only goes forward. */
export async function updateExportedUntil(
  tx: Queryable,
  entityId: number,
  id: number,
  { until, startedAt }: { until: Date; startedAt: Date },
): Promise<void> {
  await tx.query(
    `UPDATE data_exporters SET exported_until = greatest(exported_until, $3),
       initial_run_at = coalesce(initial_run_at, $4), last_run_at = greatest(last_run_at, $4)
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, until, startedAt],
  );
}

/** Makes Schedules follow the exporters anew, since days of the entity begin at other times. */
export async function raiseExporterRevisions(tx: Queryable, entityId: number): Promise<void> {
  await tx.query(
    `UPDATE data_exporters SET revision = revision + 1, scheduled_until = NULL
     WHERE entity_id = $1 AND active AND deleted_at IS NULL`,
    [entityId],
  );
}

/** Deletes it with its secrets; the row stays as long as its runs. */
export async function deleteExporter(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE data_exporters SET deleted_at = now(), active = false, scheduled_until = NULL,
       ${SECRETS.map((column) => `${column} = NULL`).join(', ')}, deletion_key = NULL
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id],
  );
}

export async function listExportersAlerting(db: Queryable, entityId: number, connection: string): Promise<string[]> {
  const { rows } = await db.query<Row<'data_exporters', 'name'>>(
    'SELECT name FROM data_exporters WHERE entity_id = $1 AND $2 = ANY (notify_connections) AND deleted_at IS NULL ORDER BY name',
    [entityId, connection],
  );
  return rows.map(({ name }) => name);
}
