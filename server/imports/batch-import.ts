/** Accepts imports: uploads, addresses and re-drives. */
import type { Readable } from 'node:stream';
import * as api from '../../api/imports/imports.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { ColumnMapping } from '../../domain/imports/import-file.ts';
import { didYouMean } from '../../domain/text/say-unknown.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { type AuditEntry, insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import {
  findImport,
  type Import,
  type ImportFileSettings,
  type ImportSource,
  insertImport,
} from '../../store/imports/imports.ts';
import { pinFile, type PinnedFile } from '../../store/imports/pin-file.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { actorOf } from '../http/audit.ts';
import { type ApiVersion, type Circumstances, type KeepReply, type Route, route, type Upload } from '../http/route.ts';
import { findSorOfKey, requireSor } from '../http/sor-key.ts';
import { startSoon } from '../jobs/start-soon.ts';

/** A received file. `release` gives back its share of its address or of the quota, which has counted `countedBytes`. */
type ReceivedFile = { pinned: PinnedFile; countedBytes: number; release: () => void };

/** Receives the file of a batch import and pins it, on credit until its credentials arrive. */
const importUpload: Upload<ReceivedFile> = {
  async receive(stream, fields, circumstances, deps) {
    const { sor_id, api_key } = fields;
    if (typeof sor_id !== 'string' || typeof api_key !== 'string') {
      return receiveUnverified(stream, circumstances, deps);
    }
    const sor = await findSorOfKey(deps, sor_id, api_key);
    circumstances.verified();
    return receiveMetered(stream, sor, deps);
  },
  identify: ({ pinned }) => `${pinned.sourceBytes} ${pinned.sourceSha256.toString('hex')}`,
  discard: ({ pinned }, { files }) => files.delete(pinned.fileKey),
  release: ({ release }) => release(),
};

async function receiveMetered(
  stream: Readable,
  sor: { id: number; entityId: number },
  deps: RouteDependencies,
): Promise<ReceivedFile> {
  const { take, release } = await deps.keptFiles.meter(sor);
  try {
    const pinned = await pinFile(deps.files, stream, { ...deps.limits, onStore: take });
    return { pinned, countedBytes: pinned.fileBytes, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function receiveUnverified(
  stream: Readable,
  { address }: Circumstances,
  { files, limits, unverified }: RouteDependencies,
): Promise<ReceivedFile> {
  let taken = 0;
  const release = () => {
    unverified.giveBack(address, taken);
    taken = 0;
  };
  const onStore = (bytes: number) => {
    if (!unverified.take(address, bytes)) {
      refuse(
        413,
        'payload_too_large',
        'Too much is stored without credentials: put sor_id and api_key before the file',
      );
    }
    taken += bytes;
  };
  try {
    return { pinned: await pinFile(files, stream, { ...limits, onStore }), countedBytes: 0, release };
  } catch (error) {
    release();
    throw error;
  }
}

const batchImport = route(
  api.importAttributeValues,
  async ({ body, file, version, keepReply, ...circumstances }, deps) => {
    const sor = await findSorOfKey(deps, body.sor_id, body.api_key);
    const actor = { actorKind: 'sor_key', actorId: sor.id, address: circumstances.address } as const;
    return acceptImport(deps, { sor, actor, body, file, version, keepReply, log: circumstances.log });
  },
  importUpload,
);

const importUploadWithToken: Upload<ReceivedFile> = {
  ...importUpload,
  async receive(stream, { sor_id }, { caller }, deps) {
    if (typeof sor_id !== 'string') return refuseField('sor_id', 'is required, before the file');
    return receiveMetered(stream, await requireSor(deps.db, caller!.entityId, sor_id), deps);
  },
};

const importWithToken = route(
  api.importWithToken,
  async ({ body, file, version, keepReply, ...who }, deps) => {
    const { entityId } = who.caller;
    const sor = await requireSor(deps.db, entityId, body.sor_id);
    return acceptImport(deps, { sor, actor: actorOf(who), body, file, version, keepReply, log: who.log });
  },
  importUploadWithToken,
);

type Acceptance = {
  sor: { id: number; entityId: number; identifier: string };
  actor: Pick<AuditEntry, 'actorKind' | 'actorId' | 'address'>;
  body: Omit<api.NewImport, 'api_key'>;
  file: ReceivedFile | undefined;
  version: ApiVersion;
  keepReply: KeepReply;
  log: Circumstances['log'];
};

async function acceptImport(
  deps: RouteDependencies,
  { sor, actor, body, file, version, keepReply, log }: Acceptance,
): Promise<{ jid: string; import_id: string }> {
  const source = sourceOf(file, body);
  const { job, answer } = await write(deps.db, async (tx) => {
    await deps.keptFiles.lock(tx, sor, file ? file.pinned.fileBytes - file.countedBytes : 1);
    const parent = body.redrive_of === undefined ? null : await findParent(tx, sor, body.redrive_of);
    if (body.columns !== undefined) await checkColumns(tx, sor, body.columns, parent);
    const accepted = await insertImport(tx, deps.secrets, sor.entityId, {
      source,
      sorId: sor.id,
      version: body.columns === undefined ? (parent?.version ?? version) : 3,
      skipEmail: body.skip_email,
      dryRun: body.dry_run,
      parentId: parent?.id ?? null,
      rootId: parent && rootOf(parent),
      saidAt: parent && saidAtOf(parent),
      fileSettings: fileSettingsOf(body, parent),
      columnMapping: body.columns ?? null,
    });
    await insertAuditEntry(tx, sor.entityId, {
      ...actor,
      action: 'import',
      subjectKind: 'import',
      subject: accepted.identifier,
      details: { sor: sor.identifier, bytes: accepted.file?.fileBytes ?? null, dryRun: body.dry_run },
    });
    return { job: accepted, answer: await keepReply(tx, { jid: accepted.jid, import_id: accepted.identifier }) };
  });
  await startSoon(deps, log, 'import', jobRefOf(job));
  return answer;
}

function rootOf({ id, rootId, hasErrorColumns }: Import): number {
  return rootId !== null && hasErrorColumns ? rootId : id;
}

/** Returns when the values of the chain's first import were said. A file that was no correction has its own time. */
function saidAtOf({ receivedAt, saidAt, hasErrorColumns, columnMapping }: Import): Date {
  return hasErrorColumns || columnMapping !== null ? (saidAt ?? receivedAt) : receivedAt;
}

/** Returns the settings of an error file: numbers and dates as in the first file, UTF-8, its header's delimiter. */
function fileSettingsOf(
  { delimiter, encoding, decimal, sheet, null_marker: nullMarker, dates }: Acceptance['body'],
  parent: Import | null,
): ImportFileSettings {
  const of = parent?.fileSettings;
  return {
    delimiter,
    encoding,
    sheet,
    decimal: decimal ?? parent?.fileFormat?.decimal,
    nullMarker: nullMarker ?? of?.nullMarker,
    dates: dates ?? of?.dates,
  };
}

/** Refuses unknown keys: otherwise each cell of the column would become an ignored row. */
async function checkColumns(
  tx: Queryable,
  sor: { id: number; entityId: number },
  { attributes }: ColumnMapping,
  parent: Import | null,
): Promise<void> {
  if (parent?.columnMapping === null) {
    refuseField(
      'columns',
      'is taken with redrive_of only where that import was one of a table: an error file has its own columns',
    );
  }
  const known = (await listCustomerAttributesOf(tx, sor.entityId, [sor.id])).map(({ key }) => key);
  const keys = Object.values(attributes);
  const attributesOfSor = new Set(known);
  const unknown = keys.find((key) => !attributesOfSor.has(key));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known);
    refuseField('columns.attributes', `names ${quote(unknown)}, which is no attribute of the System of Records${hint}`);
  }
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) refuseField('columns.attributes', `maps two columns to the attribute ${quote(twice)}`);
}

function sourceOf(file: ReceivedFile | undefined, body: Acceptance['body']): ImportSource {
  const { file_url: url, request_headers: headers } = body;
  if (file && url !== undefined) return refuseField('file_url', 'is given beside a file: send one of them');
  if (headers && url === undefined)
    return refuseField('request_headers', 'is only sent with file_url, which is missing');
  if (file) return file.pinned;
  if (url !== undefined) return { url, headers: headers ?? {} };
  return refuseField('file', 'is required: send the file as the web-form part `file`, or its address as file_url');
}

/** Finds the import to re-drive, in the same System of Records. */
async function findParent(tx: Queryable, sor: { id: number; entityId: number }, shown: string): Promise<Import> {
  const parent = await findImport(tx, sor.entityId, shown);
  if (parent?.sorId !== sor.id) return refuseField('redrive_of', 'is no import into this System of Record');
  if (!parent.endedAt) return refuseField('redrive_of', 'has not ended yet: its errors are not all known');
  if (parent.dryRun) return refuseField('redrive_of', 'was a dry run, which brought no row: import the whole file');
  return parent;
}

export const batchImportRoutes: Route[] = [batchImport, importWithToken];
