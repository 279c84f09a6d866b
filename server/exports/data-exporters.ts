/** The routes of data exporters: list, create, change, delete. Each definition is tried in its bucket. */
import { isDeepStrictEqual } from 'node:util';
import * as api from '../../api/exports/data-exporters.ts';
import { type FieldError, collectErrors, refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { exportDataType } from '../../domain/exports/export-data-type.ts';
import { encryptionKeyError } from '../../domain/exports/file-encryption.ts';
import { zoneClock } from '../../domain/time/date-value.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import { listSorIds, listSorNames } from '../../store/attributes/systems-of-records.ts';
import { type Queryable, read, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { DataExporter, ExporterSecrets, NewExporter } from '../../store/exports/data-exporter-record.ts';
import {
  deleteExporter,
  insertExporter,
  listExporters,
  lockExporter,
  lockExporterCount,
  updateExporter,
} from '../../store/exports/data-exporters.ts';
import { cancelExportRunsOf } from '../../store/exports/export-runs.ts';
import { findDeletionKey } from '../../store/gdpr/export-deletions.ts';
import { audit } from '../http/audit.ts';
import { refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { type Route, route } from '../http/route.ts';
import { followExporterSoon } from '../jobs/start-soon.ts';
import { requireAlertConnections } from '../syncs/connection-record.ts';
import { checkBucket, type Definition } from './exporter-check.ts';
import { knownExporter, listedExporters, showExporter } from './exporter-record.ts';
import { refuseChangedMeanwhile, storedExporter, type StoredExporter } from './stored-exporter.ts';

/** Returns an exporter with its secrets. Draws a deletion key if it has none. */
async function revealExporter(
  tx: Queryable,
  secrets: Secrets,
  exporter: DataExporter,
  { accessKeyId, secretAccessKey, encryptionKey }: ExporterSecrets,
): Promise<api.RevealedDataExporter> {
  return {
    ...(await showExporter(tx, exporter)),
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
    encryption_key: encryptionKey,
    deletion_key: await findDeletionKey(tx, secrets, exporter),
  };
}

const MAX_EXPORTERS = 100;

const listTheExporters = route(api.listDataExporters, async ({ caller: { entityId } }, { db }) => {
  return listedExporters(db, entityId, await listExporters(db, entityId));
});

const viewExporter = route(api.viewDataExporter, async ({ params: { exporter_id }, query, ...who }, deps) => {
  if (!query.secrets) {
    const exporter = await knownExporter(deps.db, who.caller.entityId, exporter_id);
    return showExporter(deps.db, exporter);
  }
  return write(deps.db, async (tx) => {
    const { secrets, ...exporter } = await storedExporter(tx, deps, who.caller.entityId, exporter_id);
    await audit(tx, who, { action: 'read', subjectKind: 'data_exporter', subject: exporter_id });
    return revealExporter(tx, deps.secrets, exporter, secrets);
  });
});

const createExporter = route(api.createDataExporter, async ({ body, keepReply, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  const definition = await read(deps.db, (tx) => readExporter(tx, entityId, body, null));
  if (body.check) await checkBucket(who, deps, null, definition);
  return write(deps.db, async (tx) => {
    await requireAlertConnections(tx, entityId, definition.notifyConnections, 'notify_connections');
    if ((await lockExporterCount(tx, entityId)) >= MAX_EXPORTERS) {
      refuse(409, 'conflict', `The entity has ${MAX_EXPORTERS} data exporters, which is the most: delete one first`);
    }
    const exporter = await insertExporter(tx, deps.secrets, entityId, { ...definition, createdBy: userId });
    await audit(tx, who, { action: 'create', subjectKind: 'data_exporter', subject: exporter.identifier });
    return keepReply(tx, await revealExporter(tx, deps.secrets, exporter, definition.secrets), {
      secretOf: exporter.identifier,
    });
  });
});

const changeExporter = route(api.updateDataExporter, async ({ params: { exporter_id }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  let tried: number | null = null;
  if (body.check) {
    const before = await storedExporter(deps.db, deps, entityId, exporter_id);
    await checkBucket({ log, ...who }, deps, exporter_id, await readExporter(deps.db, entityId, body, before));
    tried = before.revision;
  }
  const after = await write(deps.db, async (tx) => {
    const before = await storedExporter(tx, deps, entityId, exporter_id, lockExporter);
    if (tried !== null) refuseChangedMeanwhile(before, tried);
    await refuseOlderRevision(tx, entityId, 'data_exporter', before, body.revision);
    const definition = await readExporter(tx, entityId, body, before);
    await requireAlertConnections(tx, entityId, definition.notifyConnections, 'notify_connections');
    const changed = changedMembers(before, definition);
    if (changed.length > 0) await updateExporter(tx, deps.secrets, before, definition);
    const details = { members: changed.join(' ') };
    await audit(tx, who, { action: 'update', subjectKind: 'data_exporter', subject: exporter_id, details });
    return knownExporter(tx, entityId, exporter_id);
  });
  await followExporterSoon(deps, log, after);
  return showExporter(deps.db, after);
});

const deleteTheExporter = route(api.deleteDataExporter, async ({ params: { exporter_id }, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const { deleted, shown } = await write(deps.db, async (tx) => {
    const { secrets, ...exporter } = await storedExporter(tx, deps, entityId, exporter_id, lockExporter);
    const answer = await revealExporter(tx, deps.secrets, exporter, secrets);
    await cancelExportRunsOf(tx, entityId, exporter.id, 'all');
    await deleteExporter(tx, entityId, exporter.id);
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'data_exporter',
      subject: exporter_id,
      details: { secrets_shown: true },
    });
    return { deleted: exporter, shown: answer };
  });
  await followExporterSoon(deps, log, { ...deleted, active: false });
  return shown;
});

export const dataExporterRoutes: Route[] = [
  listTheExporters,
  viewExporter,
  createExporter,
  changeExporter,
  deleteTheExporter,
];

const DEFAULTS = { region: 'eu-west-1', roleName: 'millrace-exporter', partBytes: 512 * 1024 ** 2 };

const MEMBERS = {
  name: 'name',
  type: 'export_configuration',
  bucketName: 'bucket_name',
  subfolder: 'subfolder',
  region: 'aws_region',
  endpoint: 'endpoint',
  accountId: 'aws_account_id',
  roleName: 'aws_role_name',
  appIds: 'app_ids',
  sorIds: 'sor_ids',
  exportedData: 'exported_data',
  format: 'format',
  includeHeaders: 'include_headers',
  encryptionType: 'encryption_type',
  partBytes: 'part_bytes',
  exportsSince: 'export_since',
  notifyEmails: 'notify_emails',
  notifyConnections: 'notify_connections',
  serverSideEncryption: 'server_side_encryption',
  kmsKeyId: 'kms_key_id',
  contentMd5: 'content_md5',
} as const satisfies Record<keyof NewExporter, keyof api.DataExporterChange>;

const SECRET_MEMBERS = {
  accessKeyId: 'aws_access_key_id',
  secretAccessKey: 'aws_secret_access_key',
  encryptionKey: 'encryption_key',
} as const satisfies Record<keyof ExporterSecrets, keyof api.DataExporterChange>;

/** Returns the definition after a request. Refuses unknown and contradictory parts by their wire elements. */
async function readExporter(
  db: Queryable,
  entityId: number,
  body: api.DataExporterChange,
  before: StoredExporter | null,
): Promise<Definition> {
  const bucket = {
    type: or(body.export_configuration, before?.type)!,
    bucketName: or(body.bucket_name, before?.bucketName)!,
    region: or(body.aws_region, before?.region) ?? DEFAULTS.region,
    endpoint: or(body.endpoint, before?.endpoint) ?? null,
  };
  const errors: FieldError[] = [];
  const access = await collectErrors(errors, () => readAccess(body, bucket, before));
  const encryption = await collectErrors(errors, () => readEncryption(body, before));
  const bucketEncryption = await collectErrors(errors, () => readBucketEncryption(body, before));
  const exported = await collectErrors(errors, () => readExported(db, entityId, body, before));
  const exportsSince = await collectErrors(errors, () => readSince(db, entityId, body, before));
  refuseFields(errors);
  const { accessKeyId, secretAccessKey, ...account } = access!;
  const { encryptionKey, encryptionType } = encryption!;
  return {
    ...bucket,
    ...account,
    ...exported!,
    ...bucketEncryption!,
    encryptionType,
    contentMd5: or(body.content_md5, before?.contentMd5) ?? false,
    name: or(body.name, before?.name) ?? `Export to ${bucket.bucketName}`,
    subfolder: or(body.subfolder, before?.subfolder) ?? '',
    format: or(body.format, before?.format) ?? 'csv',
    includeHeaders: or(body.include_headers, before?.includeHeaders) ?? false,
    partBytes: or(body.part_bytes, before?.partBytes) ?? DEFAULTS.partBytes,
    exportsSince,
    notifyEmails: or(body.notify_emails, before?.notifyEmails) ?? [],
    notifyConnections: or(body.notify_connections, before?.notifyConnections) ?? [],
    secrets: { accessKeyId, secretAccessKey, encryptionKey },
  };
}

function changedMembers(before: StoredExporter, after: Definition): string[] {
  const open = Object.entries(MEMBERS).filter(
    ([part]) => !isDeepStrictEqual(before[part as keyof NewExporter], after[part as keyof NewExporter]),
  );
  const secret = Object.entries(SECRET_MEMBERS).filter(
    ([part]) => before.secrets[part as keyof ExporterSecrets] !== after.secrets[part as keyof ExporterSecrets],
  );
  return [...open, ...secret].map(([, member]) => member);
}

function or<T>(given: T | undefined, before: T | undefined): T | undefined {
  return given === undefined ? before : given;
}

type BucketAccess = Pick<NewExporter, 'type' | 'bucketName' | 'region' | 'endpoint'>;

type Access = Pick<NewExporter, 'accountId' | 'roleName'> & Omit<ExporterSecrets, 'encryptionKey'>;

function readAccess(body: api.DataExporterChange, bucket: BucketAccess, before: StoredExporter | null): Access {
  const ofOther = misplaced(body, bucket.type);
  if (bucket.type === 'aws_account_id') {
    const accountId = or(body.aws_account_id, before?.accountId) ?? null;
    const roleName = or(body.aws_role_name, before?.roleName) ?? DEFAULTS.roleName;
    const without = accountId === null ? [missing('aws_account_id', 'export_configuration aws_account_id')] : [];
    refuseFields([...ofOther, ...without]);
    return { accountId, roleName, accessKeyId: null, secretAccessKey: null };
  }
  const accessKeyId = or(body.aws_access_key_id, before?.secrets.accessKeyId) ?? null;
  const secretAccessKey = or(body.aws_secret_access_key, before?.secrets.secretAccessKey) ?? null;
  const without = Object.entries({ aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey })
    .filter(([, key]) => key === null)
    .map(([member]) => missing(member, 'export_configuration aws_secret_key'));
  refuseFields([
    ...ofOther,
    ...(without.length > 0 ? without : ledElsewhere(body, { ...bucket, accessKeyId }, before)),
  ]);
  return { accountId: null, roleName: null, accessKeyId, secretAccessKey };
}

const OF_ACCESS = {
  aws_account_id: ['aws_account_id', 'aws_role_name'],
  aws_secret_key: ['aws_access_key_id', 'aws_secret_access_key'],
} as const;

function misplaced(body: api.DataExporterChange, type: NewExporter['type']): FieldError[] {
  const other = type === 'aws_account_id' ? 'aws_secret_key' : 'aws_account_id';
  return OF_ACCESS[other]
    .filter((member) => typeof body[member] === 'string')
    .map((member) => ({
      element: member,
      message: `is of export_configuration ${other}, and this one is ${type}`,
    }));
}

/** Requires a stored secret again if it would be used elsewhere: another user may have given it. */
function ledElsewhere(
  body: api.DataExporterChange,
  after: BucketAccess & Pick<Access, 'accessKeyId'>,
  before: StoredExporter | null,
): FieldError[] {
  if (before?.type !== 'aws_secret_key' || typeof body.aws_secret_access_key === 'string') return [];
  const leading = (['bucketName', 'region', 'endpoint'] as const)
    .filter((part) => before[part] !== after[part])
    .map((part): string => MEMBERS[part]);
  const changed = before.secrets.accessKeyId === after.accessKeyId ? leading : [...leading, 'aws_access_key_id'];
  return changed.length === 0
    ? []
    : [
        {
          element: 'aws_secret_access_key',
          message: `must be given anew, since ${changed.join(', ')} changed: a stored secret is used nowhere else than where it was given for`,
        },
      ];
}

type BucketEncryption = Pick<NewExporter, 'serverSideEncryption' | 'kmsKeyId'>;

/** Drops the key of aws:kms with another encryption. */
function readBucketEncryption(body: api.DataExporterChange, before: StoredExporter | null): BucketEncryption {
  const serverSideEncryption = or(body.server_side_encryption, before?.serverSideEncryption) ?? null;
  if (serverSideEncryption === 'aws:kms') {
    return { serverSideEncryption, kmsKeyId: or(body.kms_key_id, before?.kmsKeyId) ?? null };
  }
  if (typeof body.kms_key_id === 'string') refuseMissing('server_side_encryption', 'kms_key_id, and must be aws:kms');
  return { serverSideEncryption, kmsKeyId: null };
}

function readEncryption(
  { encryption_type: type, encryption_key: key }: api.DataExporterChange,
  before: StoredExporter | null,
): { encryptionType: string | null; encryptionKey: string | null } {
  const encryptionType = (type === undefined ? before?.encryptionType : type) || null;
  if (encryptionType === null) {
    if (typeof key === 'string') refuseMissing('encryption_type', 'encryption_key');
    return { encryptionType, encryptionKey: null };
  }
  const earlier = before?.encryptionType ?? null;
  const isSame = earlier?.toUpperCase() === encryptionType.toUpperCase();
  const encryptionKey = key === undefined && isSame ? before!.secrets.encryptionKey : (key ?? null);
  if (encryptionKey === null) {
    if (earlier === null || isSame) return refuseMissing('encryption_key', 'encryption_type');
    return refuseField('encryption_key', 'must be given anew with another encryption_type');
  }
  const error = encryptionKeyError(encryptionType, encryptionKey);
  if (error !== undefined) refuseField('encryption_key', error);
  return { encryptionType, encryptionKey };
}

type Exported = Pick<NewExporter, 'appIds' | 'sorIds' | 'exportedData'>;

async function readExported(
  db: Queryable,
  entityId: number,
  { app_ids: apps, sor_ids: sors, ...body }: api.DataExporterChange,
  before: StoredExporter | null,
): Promise<Exported> {
  const exportedData = or(body.exported_data, before?.exportedData)!;
  const errors: FieldError[] = [];
  const appIds = apps ? named(errors, 'app_ids', 'app', apps, await listAppIds(db, entityId, apps)) : before!.appIds;
  const sorIds = sors
    ? named(errors, 'sor_ids', 'System of Records', sors, await listSorIds(db, entityId, sors))
    : (before?.sorIds ?? []);
  refuseFields(errors);
  const needsSor = exportedData.map(exportDataType).includes('attributes');
  if (needsSor && (await listSorNames(db, entityId, sorIds)).size === 0) {
    refuseField('sor_ids', 'must name at least one System of Records, since attributes are exported');
  }
  return { appIds, sorIds, exportedData };
}

/** Returns the ids of these identifiers, each once. Unknown identifiers join the errors. */
function named(
  errors: FieldError[],
  element: string,
  what: string,
  identifiers: string[],
  ids: Map<string, number>,
): number[] {
  for (const [index, identifier] of identifiers.entries()) {
    if (!ids.has(identifier)) {
      errors.push({ element: `${element}.${index}`, message: `names no ${what} of the entity` });
    }
  }
  return [...new Set(identifiers.map((identifier) => ids.get(identifier)!))];
}

async function readSince(
  db: Queryable,
  entityId: number,
  { export_since: given }: api.DataExporterChange,
  before: StoredExporter | null,
): Promise<Date | null> {
  const earlier = before?.exportsSince ?? null;
  if (given === undefined) return earlier;
  const since =
    given === null ? null : wholeSeconds('at' in given ? given.at : await startOfDay(db, entityId, given.day));
  const hasRun = before !== null && (before.exportedUntil !== null || before.initialRunAt !== null);
  if (hasRun && since?.getTime() !== earlier?.getTime()) {
    refuseField('export_since', 'stays once it has exported: the next export begins where the last one ended');
  }
  if (!hasRun && since !== null && since > new Date()) {
    refuseField('export_since', 'must not be in the future: until then nothing would be exported');
  }
  return since;
}

async function startOfDay(db: Queryable, entityId: number, day: string): Promise<Date> {
  const clock = zoneClock(await findEntityZone(db, entityId));
  return new Date(clock.instantOf(Date.parse(`${day}T00:00:00Z`), { gap: 'later' }));
}

function wholeSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

function missing(element: string, reason: string): FieldError {
  return { element, message: `is required with ${reason}` };
}

function refuseMissing(element: string, reason: string): never {
  return refuseField(element, missing(element, reason).message);
}
