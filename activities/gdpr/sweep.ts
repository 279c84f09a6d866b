import { faultOf } from '../../domain/core/fault.ts';
import { listDueMails, listExpiredRequests } from '../../store/gdpr/across-entities.ts';
import { findGdprRequestById } from '../../store/gdpr/requests.ts';
import { listUnclaimedRuns } from '../../store/jobs/runs-across-entities.ts';
import { GRACE_SECONDS } from '../jobs/sweep.ts';
import type { Needs } from '../needs.ts';
import { discardGdprRequest } from './discard.ts';
import { mailGdpr } from './gdpr-mail.ts';
import { startGdprRequest } from './start-gdpr.ts';

export type GdprSweepSteps = ReturnType<typeof gdprSweepSteps>;
type SweepNeeds = Pick<Needs, 'db' | 'files' | 'secrets' | 'temporal' | 'mailer' | 'publicUrl' | 'boundary' | 'log'>;

export const gdprSweepSteps = (needs: SweepNeeds) => ({
  /**
   * Starts requests of people that nobody has started, tells of those that wait, and takes those away whose time is over. What one of
   * them meets, as a file store that is away, keeps none of the others: the next sweep tries it again.
   */
  async careForRequests(): Promise<void> {
    const { db, temporal } = needs;
    for (const ref of await listUnclaimedRuns(db, 'gdpr', GRACE_SECONDS)) {
      await alone(needs, ref, 'a request of people could not be started', async () => {
        const request = await findGdprRequestById(db, ref.entityId, ref.runId);
        if (request) await startGdprRequest(temporal, ref, request.type);
      });
    }
    for (const { entityId, requestId, kind } of await listDueMails(db)) {
      await alone(needs, { entityId, runId: requestId }, 'a mail about a request of people could not be sent',
        () => mailGdpr(needs, { entityId, requestId }, kind));
    }
    for (const expired of await listExpiredRequests(db)) {
      await alone(needs, expired, 'a request of people whose time is over could not be taken away',
        () => discardGdprRequest(needs, expired));
    }
  },
});

async function alone(
  { log }: SweepNeeds, { entityId, runId }: { entityId: number; runId: number }, words: string, work: () => Promise<unknown>,
): Promise<void> {
  await work().catch((error: unknown) => log.warn({ entityId, gdprRequestId: runId, ...faultOf(error) }, words));
}
