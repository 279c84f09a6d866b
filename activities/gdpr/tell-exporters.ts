import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { masked } from '../../connectors/core/masked.ts';
import { type ExportBucket, openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { PATIENCE } from '../../connectors/s3/export-client.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { shorten } from '../../domain/core/text-limits.ts';
import { exportFolder } from '../../domain/exports/export-window.ts';
import { deletionListName, signDeletionList } from '../../domain/gdpr/deletion-list.ts';
import { findEntityIdentifier, findExternalId } from '../../store/accounts/entities.ts';
import type { DataExporter, ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { findExporterById, openExporterSecrets } from '../../store/exports/data-exporters.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import {
  type DeletionRound, type ExportDeletion, findNextListMs, listDueLists, listLeftLists, raiseTries, updateListFault, updateNeverNotified,
  updateNotified,
} from '../../store/gdpr/export-deletions.ts';
import type { Again } from '../core/again.ts';
import { waitForBucket } from '../exports/wait-for-bucket.ts';
import type { Needs } from '../needs.ts';

type TellNeeds = Pick<Needs, 'db' | 'secrets' | 'boundary'> & { outside: Pick<Needs['outside'], 'allow'> };

/** A bucket that is troubled for longer is asked again later. */
const PATIENCE_OF_A_TRY = { ...PATIENCE, retryMs: 5_000 };
/** An exporter is told for so long; then the receipt says that it was not. */
const TOLD_FOR_MS = 24 * 3_600_000;
/** Of a try that dies with its process. */
const LEASE_MS = 60_000;
/** A run of an exporter puts at most so many of the lists that its bucket did not take. */
const LEFT_AT_ONCE = 100;
const MOST_CHARS = 2_000;

/**
 * Puts the lists of a round into the buckets of their exporters. Null once each of them lies there, or was given up for now; else
 * when to try again. The caller heartbeats.
 */
export async function tellExporters(
  needs: TellNeeds, round: DeletionRound, signal = Context.current().cancellationSignal,
): Promise<Again | null> {
  const due = await listDueLists(needs.db, round);
  for (const [exporterId, lists] of Map.groupBy(due, ({ exporterId: id }) => id)) {
    const exporter = await findExporterById(needs.db, round.entityId, exporterId);
    if (exporter) await tellOne(needs, { exporter, lists, signal });
    else for (const list of lists) await updateNeverNotified(needs.db, list);
  }
  const nextMs = await findNextListMs(needs.db, round);
  return nextMs === null ? null : { againInMs: nextMs };
}

/** Puts what an exporter's bucket did not take at its time, before a run writes more; what it refuses now stays for the next run. */
export async function tellWhatIsLeft(
  needs: TellNeeds, { exporter, bucket, secrets }: { exporter: DataExporter; bucket: ExportBucket; secrets: ExporterSecrets },
): Promise<void> {
  const lists = await listLeftLists(needs.db, exporter.entityId, exporter.id, LEFT_AT_ONCE);
  await putAll(needs, { exporter, bucket, lists }).catch((error: unknown) => noteFault(needs, lists, secrets, error));
}

async function tellOne(
  needs: TellNeeds, { exporter, lists, signal }: Pick<Telling, 'exporter' | 'lists'> & { signal: AbortSignal },
): Promise<void> {
  const { db, outside } = needs;
  const secrets = await openExporterSecrets(db, needs.secrets, exporter.entityId, exporter.id);
  const access = exporterAccess(exporter, secrets, await findExternalId(db, exporter.entityId));
  const bucket = openExportBucket(access, { allow: outside.allow, signal }, PATIENCE_OF_A_TRY);
  try {
    await putAll(needs, { exporter, bucket, lists });
  } catch (error) {
    signal.throwIfAborted();
    await noteFault(needs, lists, secrets, error);
  } finally {
    bucket.close();
  }
}

type Telling = { exporter: DataExporter; bucket: ExportBucket; lists: ExportDeletion[] };

/** The same bytes at the same key however often it is done. */
async function putAll(needs: TellNeeds, { exporter, bucket, lists }: Telling): Promise<void> {
  const entity = await findEntityIdentifier(needs.db, exporter.entityId);
  await raiseTries(needs.db, exporter.entityId, lists.map(({ id }) => id), LEASE_MS);
  for (const list of lists) {
    needs.boundary('gdpr: before a list');
    const key = `${exportFolder(exporter, 'deletions')}/${deletionListName(list)}`;
    const body = bodyOf(needs, { exporter, entity, list });
    await bucket.put(key, body, 'application/json');
    needs.boundary('gdpr: after a list');
    await updateNotified(needs.db, list, { key, sha256: createHash('sha256').update(body).digest() });
  }
}

function bodyOf(
  { secrets }: TellNeeds, { exporter, entity, list }: { exporter: DataExporter; entity: string; list: ExportDeletion },
): Buffer {
  const signed = signDeletionList({
    exporter: exporter.identifier, entity, list: list.identifier, request: list.requestIdentifier,
    erased_at: list.erasedAt.toISOString(), identifiers: list.hmacs!,
  }, (bytes) => secrets.sign(bytes));
  return Buffer.from(`${JSON.stringify(signed, null, 2)}\n`);
}

/** Of those that were put before the fault nothing changes. */
async function noteFault(needs: TellNeeds, lists: ExportDeletion[], secrets: ExporterSecrets, error: unknown): Promise<void> {
  if (!(error instanceof Refusal)) throw error;
  const fault = shorten(masked(error.message, { ...secrets }), MOST_CHARS);
  for (const list of lists) await updateListFault(needs.db, list, { fault, againInMs: nextTry(list, error) });
}

function nextTry({ tries, createdAt }: ExportDeletion, refusal: Refusal): number | null {
  const waitMs = waitForBucket(tries, refusal);
  return waitMs === null || Date.now() + waitMs > createdAt.getTime() + TOLD_FOR_MS ? null : waitMs;
}
