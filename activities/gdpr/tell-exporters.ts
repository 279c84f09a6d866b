/** The steps that put signed lists of people to delete into the buckets of exporters. */
import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { redacted } from '../../connectors/core/redacted.ts';
import { type ExportBucket, openExportBucket, PATIENCE } from '../../connectors/s3/export-bucket.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { exportFolder } from '../../domain/exports/export-window.ts';
import { signDeletionList, TELLING_EXPORTERS } from '../../domain/gdpr/deletion-list.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { waitBeforeRetry } from '../../domain/jobs/patience.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { findEntityIdentifier, findExternalId } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import type { DataExporter, ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { findExporterById, openExporterSecrets } from '../../store/exports/data-exporters.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import {
  type DeletionRound,
  type ExportDeletion,
  findNextListMs,
  listDueLists,
  listExportersThatWait,
  listLeftLists,
  raiseTries,
  updateListError,
  updateNotified,
} from '../../store/gdpr/export-deletions.ts';
import { holdGdprRequest, updateGdprError, updateStage } from '../../store/gdpr/progress.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { BUCKET_FINAL_TRIES } from '../exports/attempt.ts';

export type TellDependencies = Pick<Dependencies, 'db' | 'secrets' | 'boundary'> & {
  outside: Pick<Dependencies['outside'], 'allow' | 'fetch'>;
};

/** How long one try waits for a bucket; later tries follow. */
const PATIENCE_OF_A_TRY = { ...PATIENCE, retryMs: 5_000 };
/** How long an exporter's bucket is tried; then the receipt says that it has no list. */
const TOLD_FOR_MS = DAY_MS;
/** How long a try keeps its claim after its process has died. */
const LEASE_MS = 60_000;
/** Maximum number of left lists that a run of an exporter puts. */
const LEFT_AT_ONCE = 100;
const MAX_CHARS = 2_000;

/** Puts the lists into the buckets. Returns when to try again; null once each bucket has its list or was given up. */
export async function tellExporters(
  deps: TellDependencies,
  claim: JobClaim,
  signal = Context.current().cancellationSignal,
): Promise<RetryAfter | null> {
  const { entityId, identifier: requestIdentifier, round } = await write(deps.db, (tx) => holdGdprRequest(tx, claim));
  const wait = await putDueLists(deps, { entityId, requestIdentifier, round }, signal);
  const faults = await listExportersThatWait(deps.db, { entityId, requestIdentifier, round });
  if (faults.length === 0) await updateStage(deps.db, claim, TELLING_EXPORTERS);
  else await updateGdprError(deps.db, claim, faults.map(sayWaits).join('; '));
  return wait;
}

const sayWaits = ({ exporter, fault }: { exporter: string; fault: string }) =>
  `the bucket of exporter ${exporter} did not take the list of people to delete: ${fault}`;

/** Puts the due lists of a round. Returns when to try again; null once none is left. The caller heartbeats. */
export async function putDueLists(
  deps: TellDependencies,
  round: DeletionRound,
  signal = Context.current().cancellationSignal,
): Promise<RetryAfter | null> {
  const due = await listDueLists(deps.db, round);
  for (const [exporterId, lists] of Map.groupBy(due, ({ exporterId: id }) => id)) {
    const exporter = await findExporterById(deps.db, round.entityId, exporterId);
    if (exporter) await putListsOf(deps, { exporter, lists, signal });
    else for (const list of lists) await updateListError(deps.db, list, null);
  }
  const nextMs = await findNextListMs(deps.db, round);
  return nextMs === null ? null : { againInMs: nextMs };
}

/** Puts an exporter's left lists, before its run writes more. A list that the bucket refuses waits for the next run. */
export async function tellWhatIsLeft(
  deps: TellDependencies,
  { exporter, bucket, secrets }: { exporter: DataExporter; bucket: ExportBucket; secrets: ExporterSecrets },
): Promise<void> {
  const lists = await listLeftLists(deps.db, exporter.entityId, exporter.id, LEFT_AT_ONCE);
  await putAll(deps, { exporter, bucket, lists }).catch((error: unknown) => noteError(deps, lists, secrets, error));
}

async function putListsOf(
  deps: TellDependencies,
  { exporter, lists, signal }: Pick<Telling, 'exporter' | 'lists'> & { signal: AbortSignal },
): Promise<void> {
  const { db, outside } = deps;
  const secrets = await openExporterSecrets(db, deps.secrets, exporter.entityId, exporter.id);
  const access = exporterAccess(exporter, secrets, await findExternalId(db, exporter.entityId));
  const bucket = openExportBucket(access, { ...outside, signal }, PATIENCE_OF_A_TRY);
  try {
    await putAll(deps, { exporter, bucket, lists });
  } catch (error) {
    signal.throwIfAborted();
    await noteError(deps, lists, secrets, error);
  } finally {
    bucket.close();
  }
}

type Telling = { exporter: DataExporter; bucket: ExportBucket; lists: ExportDeletion[] };

/** Puts each list. A repeat writes the same bytes at the same key. */
async function putAll(deps: TellDependencies, { exporter, bucket, lists }: Telling): Promise<void> {
  const entity = await findEntityIdentifier(deps.db, exporter.entityId);
  await raiseTries(
    deps.db,
    exporter.entityId,
    lists.map(({ id }) => id),
    LEASE_MS,
  );
  for (const list of lists) {
    deps.boundary('gdpr: before a list');
    const key = `${exportFolder(exporter, 'deletions')}/${deletionListName(list)}`;
    const body = bodyOf(deps, { exporter, entity, list });
    await bucket.put(key, body, 'application/json');
    deps.boundary('gdpr: after a list');
    await updateNotified(deps.db, list, { key, sha256: createHash('sha256').update(body).digest() });
  }
}

function bodyOf(
  { secrets }: TellDependencies,
  { exporter, entity, list }: { exporter: DataExporter; entity: string; list: ExportDeletion },
): Buffer {
  const signed = signDeletionList(
    {
      exporter: exporter.identifier,
      entity,
      list: list.identifier,
      request: list.requestIdentifier,
      erased_at: list.erasedAt.toISOString(),
      identifiers: list.hmacs!,
    },
    (bytes) => secrets.sign(bytes),
  );
  return Buffer.from(`${JSON.stringify(signed, null, 2)}\n`);
}

/** Stores the error in the lists that were not put. */
async function noteError(
  deps: TellDependencies,
  lists: ExportDeletion[],
  secrets: ExporterSecrets,
  error: unknown,
): Promise<void> {
  // A canceled run says nothing about the bucket.
  if (error instanceof JobGone || !(error instanceof Refusal)) throw error;
  const fault = shorten(redacted(error.message, { ...secrets }), MAX_CHARS);
  for (const list of lists) await updateListError(deps.db, list, { fault, againInMs: nextTry(list, error) });
}

function nextTry({ tries, createdAt }: ExportDeletion, refusal: Refusal): number | null {
  const failingForMs = Date.now() - createdAt.getTime();
  return waitBeforeRetry(refusal, {
    tries: tries + 1,
    failingForMs,
    patienceMs: TOLD_FOR_MS,
    finalTries: BUCKET_FINAL_TRIES,
  });
}

/** Returns the file name of a list: names sort in the order of erasure. */
function deletionListName({ erasedAt, identifier }: { erasedAt: Date; identifier: string }): string {
  return `${erasedAt.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${identifier}.json`;
}
