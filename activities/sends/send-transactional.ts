import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { claimJob } from '../../store/jobs/jobs.ts';
import { listMessages, updateMessagesDone } from '../../store/sends/sends.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { lookUpUsers, planPortion } from './plan-attempts.ts';
import { type MessageSource, sendMessages } from './send-loop.ts';
import { SendingProviders } from './sending-provider.ts';

export type SendTransactionalSteps = ReturnType<typeof sendTransactionalSteps>;

export const sendTransactionalSteps = (deps: Dependencies, providers = new SendingProviders(deps)) => ({
  /** Makes the row this run's; null when it is another's, or over. */
  async claimSend(ref: JobRef, runId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'send', ref, runId);
    deps.boundary('send: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Sends what is due; when to go on, or null at the end. */
  sendMessages: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => sendMessages({ ...deps, providers }, claim, REQUEST)),
});

/** The messages that a request named. */
const REQUEST: MessageSource = {
  async planNext(tx, context, limit) {
    const { send } = context;
    const messages = await listMessages(tx, send, limit);
    if (messages.length === 0) return null;
    const outgoing = await planPortion(tx, context, messages, (chunk) => lookUpUsers(tx, context, chunk));
    await updateMessagesDone(tx, send, messages.at(-1)!.ordinal + 1);
    return outgoing;
  },
};
