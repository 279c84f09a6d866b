/** Ends a job whose step killed its process too often: committed work counts, and staff can start it again. */
import { INTERNAL_FAILURE } from '../../domain/imports/import-error-type.ts';
import type { JobClaim, JobKey, JobKind } from '../../domain/jobs/job.ts';
import { deleteAudience } from '../../store/campaigns/audience.ts';
import { deleteCampaignMembers } from '../../store/campaigns/campaign-members.ts';
import { endCampaignsOf, updateCampaignStatus } from '../../store/campaigns/campaign-runs.ts';
import { write } from '../../store/core/database.ts';
import { deleteNotedFiles, noteFileDeletions } from '../../store/core/file-deletions.ts';
import { failFile } from '../../store/files/file-jobs.ts';
import { archivePrefix, cancelBegunArchive } from '../../store/gdpr/archives.ts';
import { updateGivenUp } from '../../store/gdpr/progress.ts';
import { beginJob, endJob, lockJob } from '../../store/jobs/jobs.ts';
import { cancelWaiting, settleInterrupted } from '../../store/sends/attempts.ts';
import { deleteMessagesLeft, listCampaignsOfSend, lockSend } from '../../store/sends/sends.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ExportDailySteps } from '../exports/export-daily.ts';
import { endExportRun } from '../exports/export-end.ts';
import type { BuildFileSteps } from '../files/build-file.ts';
import type { ImportAttributesSteps } from '../imports/import-attributes.ts';
import { failImport } from '../imports/import-merge.ts';
import { endSyncRun } from '../syncs/end.ts';
import type { RunSyncSteps } from '../syncs/run-sync.ts';

type GiveUp = (deps: Dependencies, key: JobClaim, reason: string) => Promise<unknown>;

const STATUS = '500';
/** Number of a send's remaining rows that one statement deletes. */
const DELETED_AT_ONCE = 20_000;

const GIVE_UP: Record<JobKind, GiveUp> = {
  import: (deps, { entityId, jobId, generation }, message) =>
    failImport(deps, { entityId, jobId, generation }, { errorType: INTERNAL_FAILURE, message }),
  sync: (deps, key, message) => endSyncRun(deps, key, { status: STATUS, message }),
  export: (deps, key, message) => endExportRun(deps, key, { failure: { status: STATUS, message } }),
  file: giveUpFile,
  send: giveUpSend,
  campaign: giveUpSend,
  access: giveUpAccess,
  delete: ({ db }, key, reason) => updateGivenUp(db, key, reason),
};

/** Steps that return nothing, or null at their end, before the flow mails and starts the next run. */
const BEFORE_THE_END: readonly string[] = [
  'fetchFile',
  'loadRows',
  'syncRecords',
  'exportFiles',
  'writeFile',
] satisfies (keyof ImportAttributesSteps | keyof RunSyncSteps | keyof ExportDailySteps | keyof BuildFileSteps)[];

/**
 * Ends a job as failed; a request of people waits until staff approve it. A job that has ended stays as it is.
 * Returns whether the flow continues after the step, as if the step had nothing left to do.
 */
export async function giveUpJob(
  deps: Dependencies,
  kind: JobKind,
  { entityId, identifier }: { entityId: number; identifier: string },
  { step, reason }: { step: string; reason: string },
): Promise<boolean> {
  const key = await beginJob(deps.db, kind, entityId, identifier);
  if (key) await GIVE_UP[kind](deps, { ...key, identifier }, reason);
  return BEFORE_THE_END.includes(step);
}

async function giveUpFile(deps: Dependencies, key: JobClaim, message: string): Promise<void> {
  await write(deps.db, async (tx) => {
    const job = await lockJob<{ entityId: number; id: number; fileKey: string | null }>(tx, 'file', key);
    if (!job) return;
    if (job.fileKey !== null) await noteFileDeletions(tx, job.entityId, [job.fileKey]);
    await failFile(tx, job, { status: STATUS, message });
  });
  await deleteNotedFiles(deps, key.entityId, `files/${key.identifier}/`);
}

/** Keeps written archives, and deletes the unfinished one. */
async function giveUpAccess(deps: Dependencies, key: JobClaim, reason: string): Promise<void> {
  await write(deps.db, async (tx) => {
    await updateGivenUp(tx, key, reason);
    await cancelBegunArchive(tx, key);
  });
  await deleteNotedFiles(deps, key.entityId, archivePrefix(key));
}

/** Ends a send: messages that may have left become UNKNOWN, waiting ones CANCELED. */
async function giveUpSend({ db }: Dependencies, key: JobKey, message: string): Promise<void> {
  const isOurs = await write(db, async (tx) => {
    const send = await lockSend(tx, key);
    if (!send) return false;
    await settleInterrupted(tx, send.entityId, send.id);
    const campaigns = await listCampaignsOfSend(tx, send.entityId, send.id);
    await cancelWaiting(tx, send.entityId, send.id, campaigns);
    if (send.campaignId !== null) await updateCampaignStatus(tx, send.entityId, send.campaignId, 'failed', message);
    await endJob(tx, 'send', send, 'failed');
    await endCampaignsOf(tx, send.entityId, send.id);
    return true;
  });
  if (!isOurs) return;
  for (const deleteSome of [deleteMessagesLeft, deleteAudience, deleteCampaignMembers]) {
    while ((await write(db, (tx) => deleteSome(tx, key.entityId, key.jobId, DELETED_AT_ONCE))) > 0);
  }
}
