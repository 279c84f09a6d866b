import { Context } from '@temporalio/activity';
import { download } from '../../connectors/core/download.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import {
  findImportSource, type RemoteSource, updateFetchedBytes, updateFetchError, updateImportFile,
} from '../../store/imports/import-source.ts';
import { FILE_LIMITS, pinFile } from '../../store/imports/pin-file.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ImportClaim } from './import-claim.ts';
import { failImport } from './import-merge.ts';

/** Tries of one source; with the waits between them the last is nine minutes after the first. */
const TRIES = 10;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
const PROGRESS_EVERY_MS = 1_000;

/** Errors of the source that may pass by themselves: for every other one somebody has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken', 'source_changed']);

/**
 * Fetches the file of an import and pins it, whole or not at all: an attempt that breaks off leaves nothing, and the
 * next one begins at the beginning. A source that can't be fetched fails the import, in words for its owner.
 */
export async function fetchFile(deps: Dependencies, claim: ImportClaim): Promise<RetryAfter | null> {
  const source = await findImportSource(deps.db, deps.secrets, claim);
  if (!source) return null;            // fetched already, or not wanted any more
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

async function pinSource(deps: Dependencies, claim: ImportClaim, { url, headers }: RemoteSource, unwanted: AbortController): Promise<void> {
  const { db, files, boundary } = deps;
  let fetchedBytes = 0;
  const progress = setInterval(() => {
    updateFetchedBytes(db, claim, fetchedBytes).then((isWanted) => { if (!isWanted) unwanted.abort(); }, () => {});
  }, PROGRESS_EVERY_MS);
  try {
    const signal = AbortSignal.any([unwanted.signal, Context.current().cancellationSignal]);
    const onBytes = (bytes: number) => { fetchedBytes += bytes; };
    const bytes = download(deps.outside.fetch, url, { headers, signal, maxBytes: FILE_LIMITS.uploadBytes, onBytes });
    const pinned = await pinFile(files, bytes, { ...FILE_LIMITS, signal });
    boundary('import: file stored');
    const isTaken = await write(db, (tx) => updateImportFile(tx, claim, pinned));
    boundary('import: file noted');
    if (!isTaken) await files.delete(pinned.fileKey);
  } finally {
    clearInterval(progress);
  }
}

async function waitOrGiveUp(deps: Dependencies, claim: ImportClaim, { status, message, extra }: Refusal): Promise<RetryAfter | null> {
  const tries = await updateFetchError(deps.db, claim, message);
  if (PASSING.has(status) && tries < TRIES) {
    const asked = typeof extra.retry_after === 'number' ? extra.retry_after * 1000 : FIRST_WAIT_MS * 2 ** (tries - 1);
    return { againInMs: Math.min(Math.max(asked, FIRST_WAIT_MS), LONGEST_WAIT_MS) };
  }
  const often = tries > 1 ? ` (tried ${tries} times)` : '';
  await failImport(deps, claim, { errorType: 'FILE_TRANSFER_ERROR', message: message + often });
  return null;
}
