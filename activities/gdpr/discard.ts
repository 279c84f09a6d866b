import type { JobRef } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { deleteNotedFiles, noteFileDeletions } from '../../store/core/file-deletions.ts';
import { archivePrefix } from '../../store/gdpr/archives.ts';
import { deleteGdprRequest } from '../../store/gdpr/progress.ts';
import { findGdprRequestById } from '../../store/gdpr/requests.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { DAY_MS } from '../../domain/time/durations.ts';

/** Not to be slept for in one go: the time may be changed meanwhile. */
const LOOK_EVERY_MS = DAY_MS;

/**
 * Takes a request away whose time is over, and then its archives, which its rows named. Null: it is gone, or is kept
 * for good for now; else when its time is over.
 */
export async function discardGdprRequest(
  { db, files, boundary }: Pick<Dependencies, 'db' | 'files' | 'boundary'>,
  { entityId, jobId }: Pick<JobRef, 'entityId' | 'jobId'>,
): Promise<RetryAfter | null> {
  const request = await findGdprRequestById(db, entityId, jobId);
  if (!request?.expiresAt) return null;
  const leftMs = request.expiresAt.getTime() - Date.now();
  if (leftMs > 0) return { againInMs: Math.min(leftMs + 1_000, LOOK_EVERY_MS) };
  const prefix = archivePrefix(request);
  const keys = await Array.fromAsync(files.list(prefix), ({ key }) => key);
  await write(db, async (tx) => {
    await deleteGdprRequest(tx, entityId, request.id);
    await noteFileDeletions(tx, entityId, keys);
  });
  await deleteNotedFiles({ db, files, boundary }, entityId, prefix);
  return null;
}
