/** The sweep's part in privacy requests: it starts, signals, mails and discards them. */
import type { JobRef } from '../../domain/jobs/job.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { write } from '../../store/core/database.ts';
import {
  listAppsToDigest,
  listDueDigests,
  listDueMails,
  listExpiredRequests,
  listReleased,
} from '../../store/gdpr/across-entities.ts';
import { upsertDigest } from '../../store/gdpr/mails.ts';
import { listUnclaimedJobs } from '../../store/jobs/jobs-across-entities.ts';
import { mailInTurn } from '../core/mail-once.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob, tellHoldsChanged } from '../../temporal/flows.ts';
import { GRACE_SECONDS } from '../jobs/sweep.ts';
import { discardRequest } from './request-steps.ts';
import { mailDigest, mailAboutRequest } from './mail-about-request.ts';
import { deleteGoneUnreadableMails } from '../../store/gdpr/kept-values.ts';

export type GdprSweepSteps = ReturnType<typeof gdprSweepSteps>;
type SweepDependencies = Pick<
  Dependencies,
  'db' | 'files' | 'secrets' | 'temporal' | 'mailer' | 'takeMailSlot' | 'publicUrl' | 'boundary' | 'log'
>;

export const gdprSweepSteps = (deps: SweepDependencies, mailsWithinMs?: number) => ({
  /** Starts, signals, mails about and discards requests. A failure stops no other; the next sweep retries it. */
  async careForRequests(): Promise<void> {
    const { db, temporal } = deps;
    for (const kind of ['access', 'delete'] as const) {
      for (const ref of await listUnclaimedJobs(db, kind, GRACE_SECONDS)) {
        await alone(deps, requestOf(ref), 'a privacy request could not be started', () =>
          startJob(temporal, kind, ref),
        );
      }
    }
    await tellHoldsChanged(temporal, await listReleased(db));
    await mailInTurn(
      await listDueMails(db),
      ({ entityId, jobId, kind }) =>
        alone(deps, { entityId, gdprRequestId: jobId }, 'a mail about a privacy request could not be sent', () =>
          mailAboutRequest(deps, { entityId, jobId }, kind),
        ),
      mailsWithinMs,
    );
    for (const app of await listAppsToDigest(db)) {
      await alone(deps, { entityId: app.entityId }, 'requests from devices could not be put into a digest', () =>
        write(db, (tx) => upsertDigest(tx, app)),
      );
    }
    await mailInTurn(
      await listDueDigests(db),
      (digest) =>
        alone(
          deps,
          { entityId: digest.entityId, digestId: digest.id },
          'a digest of requests from devices could not be sent',
          () => mailDigest(deps, digest),
        ),
      mailsWithinMs,
    );
    for (const expired of await listExpiredRequests(db)) {
      await alone(deps, requestOf(expired), 'an expired privacy request could not be discarded', () =>
        discardRequest(deps, expired),
      );
    }
    await deleteGoneUnreadableMails(db, deps.files).catch((error: unknown) =>
      deps.log.warn({ ...internalErrorOf(error) }, 'unreadable mails could not be looked up'),
    );
  },
});

/** Logs a failure of one piece of work, with the ids of its object, so that the others go on. */
async function alone(
  { log }: SweepDependencies,
  ids: { entityId: number; gdprRequestId: number } | { entityId: number; digestId: number } | { entityId: number },
  words: string,
  work: () => Promise<unknown>,
): Promise<void> {
  await work().catch((error: unknown) => log.warn({ ...ids, ...internalErrorOf(error) }, words));
}

const requestOf = ({ entityId, jobId }: JobRef) => ({ entityId, gdprRequestId: jobId });
