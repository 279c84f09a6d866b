/** Steps of the sweep: starts jobs that were never started, restarts lost ones, deletes expired data. */
import { internalErrorOf, isInternal } from '../../domain/core/internal-error.ts';
import { JOB_KINDS, logOfJob } from '../../domain/jobs/job.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import { deleteExpiredAccountLinks } from '../../store/accounts/account-links-across-entities.ts';
import { deleteRowsOfDeletedEntities } from '../../store/accounts/deleted-entities-across-entities.ts';
import { deleteOldAttempts } from '../../store/accounts/login-attempts.ts';
import { addPendingCustomers } from '../../store/attributes/customers.ts';
import { type Database, write } from '../../store/core/database.ts';
import { deleteNotedFile, listNotedFiles } from '../../store/core/file-deletions.ts';
import type { Files, StoredFile } from '../../store/core/files.ts';
import { deleteFileJob, isFileOfJob, listExpiredFiles } from '../../store/files/file-jobs-across-entities.ts';
import { isArchiveNamed } from '../../store/gdpr/across-entities.ts';
import { listUnnamedFiles } from '../../store/imports/pinned-files-across-entities.ts';
import { deleteOldInternalErrors } from '../../store/jobs/internal-errors.ts';
import {
  endCampaigns,
  listRunningJobs,
  listSyncsToSettle,
  listUnclaimedJobs,
  resetJob,
} from '../../store/jobs/jobs-across-entities.ts';
import {
  deleteDryRunRemains,
  deleteExpiredTokens,
  deleteImport,
  deleteMembersOfDeleted,
  deleteOldChanges,
  deleteOldExportRuns,
  deleteOldFeedRequests,
  deleteOldRequests,
  deleteOldSegmentChanges,
  deleteOldSyncRuns,
  deleteRemains,
  listEntitiesWithDueSegments,
  listEntitiesWithPendingCustomers,
  listExpiredImports,
  listWaitingFeeds,
} from '../../store/jobs/retention-across-entities.ts';
import { listEntitiesToCount } from '../../store/sends/report-rollups-across-entities.ts';
import { ensurePartitionsAhead, keepRetention, foldDayCounts } from '../../store/tracking/event-partitions.ts';
import { isJobHeld, startJob, startReports, wakeFeed, wakeSegments } from '../../temporal/flows.ts';
import { repairSchedules } from '../../temporal/schedules.ts';
import { atMostEach } from '../core/at-most-each.ts';
import type { Dependencies } from '../dependencies.ts';
import { settleRunsOf } from '../syncs/deliver.ts';

/** Age below which a row is left to the request that is starting its workflow. */
export const GRACE_SECONDS = 5;

/** How long a canceled run is left to its own step, which counts its last batch within seconds. */
const CANCELED_SECONDS = 15;

/** How long after a merge the sweep adds its customers; merges in a row count together, up to ten times that. */
const PENDING_SECONDS = 30;

/** Age from which a pinned file without a row is deleted: no request lasts this long. */
const ORPHANED_AFTER_MS = DAY_MS;

/** How long one sweep folds counts and deletes data of SDKs; the next one continues, so that other steps can begin. */
const RETENTION_MS = 5_000;

export type SweepSteps = ReturnType<typeof sweepSteps>;

/** How often a process lists the file areas, which reads the names of all files. */
const ORPHANS_EVERY_MS = HOUR_MS;

export const sweepSteps = (
  {
    db,
    files,
    temporal,
    log,
    boundary,
    secrets,
  }: Pick<Dependencies, 'db' | 'files' | 'temporal' | 'log' | 'boundary' | 'secrets'>,
  deleteOrphans = atMostEach(ORPHANS_EVERY_MS, () => deleteOrphanedFiles(db, files)),
) => ({
  /** Resets running rows whose workflow Temporal has lost or closed; ends canceled runs that no step ends. */
  async resetLostRuns(): Promise<void> {
    for (const kind of JOB_KINDS) {
      for (const job of await listRunningJobs(db, kind)) {
        if (await isJobHeld(temporal, kind, job)) continue;
        if (await resetJob(db, kind, job)) {
          const { fields, name } = logOfJob(kind, job.identifier);
          log.warn({ ...fields, lostRun: job.workflowRunId }, `${name} whose workflow is lost starts again`);
        }
        boundary('sweep: between resets');
      }
    }
    await endCanceled({ db, secrets, boundary, log });
  },

  /**
   * Starts accepted work that never began, feeds whose inbox no workflow empties, due refreshes of segments. Of people:
   * gdpr/sweep.ts.
   */
  async startUnclaimed(): Promise<void> {
    for (const kind of ['import', 'sync', 'export', 'file', 'send', 'campaign'] as const) {
      for (const ref of await listUnclaimedJobs(db, kind, GRACE_SECONDS)) {
        await startJob(temporal, kind, ref);
        boundary('sweep: between starts');
      }
    }
    for (const entityId of await listWaitingFeeds(db, GRACE_SECONDS)) await wakeFeed(temporal, entityId);
    for (const entityId of await listEntitiesWithDueSegments(db, GRACE_SECONDS)) await wakeSegments(temporal, entityId);
    for (const entityId of await listEntitiesToCount(db)) await startReports(temporal, entityId);
  },

  /** Creates, changes and deletes Temporal's Schedules according to the rows of syncs and exporters. */
  repairSchedules: (): Promise<void> => repairSchedules({ db, temporal, boundary }),

  /** Adds the customers of merges. A request for profiles that comes first adds them itself. */
  async addCustomers(): Promise<void> {
    for (const entityId of await listEntitiesWithPendingCustomers(db, PENDING_SECONDS)) {
      await addPendingCustomers(db, entityId);
      boundary('sweep: between entities');
    }
  },

  /**
   * Enforces retention: jobs and errors of over a week, dead tokens, remains of deleted objects. Tries all parts even
   * if one fails, for example at a file that can't be deleted; then the step fails.
   */
  deleteExpired: (): Promise<void> =>
    doAll([
      () => deleteExpiredImports({ db, files, boundary }),
      () => deleteExpiredFiles({ db, files, boundary }),
      () => deleteFilesOfNoRow({ db, files, log, boundary }),
      deleteOrphans,
      () => files.deleteUnfinished(new Date()),
      () => deleteDryRunRemains(db),
      () => deleteRemains(db),
      () => deleteMembersOfDeleted(db),
      () => deleteOldSegmentChanges(db),
      () => deleteExpiredTokens(db),
      () => deleteOldAttempts(db),
      () => deleteOldInternalErrors(db),
      () => deleteExpiredAccountLinks(db),
      () => deleteOldRequests(db),
      () => deleteOldFeedRequests(db),
      () => deleteOldSyncRuns(db),
      () => deleteOldExportRuns(db),
      () => deleteOldChanges(db),
    ]),

  /**
   * Makes the partitions of the months to come, folds the counts of days, and deletes what SDKs sent when its time is
   * over.
   */
  async keepEvents(): Promise<void> {
    await ensurePartitionsAhead(db, new Date());
    await foldDayCounts(
      db,
      timeLeft(() => boundary('sweep: between folds of counts')),
    );
    await deleteOldRows({ db, boundary });
  },
});

/**
 * Ends canceled campaigns and runs of syncs that no step ends, and counts the last batches of these runs. A failure of
 * one does not delay the others.
 */
async function endCanceled({
  db,
  secrets,
  boundary,
  log,
}: Pick<Dependencies, 'db' | 'secrets' | 'boundary' | 'log'>): Promise<void> {
  await endCampaigns(db);
  for (const { entityId, syncId } of await listSyncsToSettle(db, CANCELED_SECONDS)) {
    await settleRunsOf({ db, secrets, boundary }, entityId, syncId).catch((error: unknown) => {
      log.error({ entityId, syncId, ...internalErrorOf(error) }, 'the batch of a canceled run could not be counted');
    });
    boundary('sweep: between canceled runs');
  }
}

/** Deletes what SDKs sent when its time is over, and what deleted entities left. */
async function deleteOldRows({ db, boundary }: Pick<Dependencies, 'db' | 'boundary'>): Promise<void> {
  await keepRetention(
    db,
    new Date(),
    timeLeft(() => boundary('sweep: between deletions of events')),
  );
  await deleteRowsOfDeletedEntities(
    db,
    timeLeft(() => {}),
  );
}

/** Returns a function that returns whether RETENTION_MS are not over yet; each call calls `pass` first. */
function timeLeft(pass: () => void): () => boolean {
  const until = performance.now() + RETENTION_MS;
  return () => {
    pass();
    return performance.now() < until;
  };
}

type Cleared = Pick<Dependencies, 'db' | 'files' | 'boundary'>;

async function deleteExpiredImports({ db, boundary }: Cleared): Promise<void> {
  for (const expired of await listExpiredImports(db)) {
    await deleteImport(db, expired);
    boundary('sweep: between jobs');
  }
}

/** Deletes jobs of files whose links have expired. */
async function deleteExpiredFiles({ db, boundary }: Cleared): Promise<void> {
  for (const expired of await listExpiredFiles(db)) {
    await write(db, (tx) => deleteFileJob(tx, expired));
    boundary('sweep: between jobs');
  }
}

/**
 * Deletes files that a transaction noted for deletion and whose deletion was interrupted. A failure does not delay the
 * others.
 */
async function deleteFilesOfNoRow({ log, ...deps }: Cleared & Pick<Dependencies, 'log'>): Promise<void> {
  for (const { entityId, fileKey } of await listNotedFiles(deps.db)) {
    await deleteNotedFile(deps, entityId, fileKey).catch((error: unknown) =>
      log.warn({ entityId, file: fileKey, ...internalErrorOf(error) }, 'a file could not be deleted'),
    );
  }
}

/**
 * Deletes files without a row: uploads whose request died before its import was written, and archives and files whose
 * row went as they were written.
 */
export async function deleteOrphanedFiles(db: Database, files: Files): Promise<void> {
  const before = new Date(Date.now() - ORPHANED_AFTER_MS);
  async function* deletionsOf(listed: AsyncIterable<StoredFile>, isNamed: (key: string) => Promise<boolean>) {
    for await (const { key, modifiedAt } of listed) {
      if (modifiedAt < before)
        yield async () => {
          if (!(await isNamed(key))) await files.delete(key);
        };
    }
  }
  await doAll([
    () => doAll(deletionsOf(listUnnamedFiles({ db, files }), async () => false)),
    () => doAll(deletionsOf(files.list('access/'), (key) => isArchiveNamed(db, key))),
    () => doAll(deletionsOf(files.list('files/'), (key) => isFileOfJob(db, key))),
  ]);
}

/** Runs each part even if others fail; then throws an internal error first, or else the first error. */
async function doAll(parts: Iterable<() => Promise<unknown>> | AsyncIterable<() => Promise<unknown>>): Promise<void> {
  const errors: unknown[] = [];
  for await (const part of parts) await part().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors.find((error) => isInternal(error)) ?? errors[0];
}
