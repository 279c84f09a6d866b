import { Context } from '@temporalio/activity';
import { download } from '../../connectors/core/download.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { refuseBeyond } from '../../domain/imports/kept-files.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { waitBeforeRetry } from '../../domain/jobs/patience.ts';
import type { Tx } from '../../store/core/database.ts';
import {
  findImportSource,
  type RemoteSource,
  updateFetchedBytes,
  updateFetchError,
  updateImportFile,
} from '../../store/imports/import-source.ts';
import { FILE_LIMITS, pinFile } from '../../store/imports/pin-file.ts';
import { sumKeptFiles } from '../../store/imports/kept-files.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { failImport } from './import-merge.ts';
import { noteKeptFile } from './note-kept-file.ts';

const PROGRESS_EVERY_MS = 1_000;

/**
 * Fetches the file of an import and pins it, whole or not at all: an attempt that breaks off leaves nothing, and the
 * next one begins at the beginning. A source that can't be fetched fails the import, in words for its owner.
 */
export async function fetchFile(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const source = await findImportSource(deps.db, deps.secrets, claim);
  if (!source) return null; // fetched already, or not wanted any more
  const unwanted = new AbortController();
  try {
    await pinSource(deps, claim, source, unwanted);
    return null;
  } catch (error) {
    if (unwanted.signal.aborted) return null;
    if (error instanceof Refusal) return waitOrGiveUp(deps, claim, error);
    throw error;
  }
}

async function pinSource(
  deps: Dependencies,
  claim: JobClaim,
  { url, headers, sorId }: RemoteSource & { sorId: number },
  unwanted: AbortController,
): Promise<void> {
  const { db, files, boundary } = deps;
  let fetchedBytes = 0;
  const progress = setInterval(() => {
    updateFetchedBytes(db, claim, fetchedBytes).then(
      (isWanted) => {
        if (!isWanted) unwanted.abort();
      },
      () => {},
    );
  }, PROGRESS_EVERY_MS);
  try {
    const signal = AbortSignal.any([unwanted.signal, Context.current().cancellationSignal]);
    const onBytes = (bytes: number) => {
      fetchedBytes += bytes;
    };
    const bytes = download(deps.outside.fetch, url, { headers, signal, maxBytes: FILE_LIMITS.uploadBytes, onBytes });
    const kept = await sumKeptFiles(db, claim.entityId, sorId);
    let storedBytes = 0;
    const onStore = (piece: number) => {
      refuseBeyond(kept, deps.keptLimits, (storedBytes += piece), new Date());
    };
    const pinned = await pinFile(files, bytes, { ...FILE_LIMITS, signal, onStore });
    boundary('import: file stored');
    const { fileKey, fileBytes } = pinned;
    const note = (tx: Tx) => updateImportFile(tx, claim, pinned);
    const isTaken = await noteKeptFile(deps, { ...claim, sorId }, { fileKey, more: fileBytes }, note);
    boundary('import: file noted');
    if (!isTaken) await files.delete(fileKey);
  } finally {
    clearInterval(progress);
  }
}

async function waitOrGiveUp(
  deps: Dependencies,
  claim: JobClaim,
  { status, message, extra }: Refusal,
): Promise<RetryAfter | null> {
  const trouble = await updateFetchError(deps.db, claim, message);
  if (trouble === null) return null; // canceled, or another generation's
  const { tries } = trouble;
  const againInMs = waitBeforeRetry({ status, extra }, { ...trouble, patienceMs: deps.patienceMs });
  if (againInMs !== null) return { againInMs };
  const often = tries > 1 ? ` (tried ${tries} times)` : '';
  await failImport(deps, claim, { errorType: 'FILE_TRANSFER_ERROR', message: message + often });
  return null;
}
