/** Steps of `sendTransactional`: claim a send, and send the messages of its request. */

import { SMALL_SEND } from '../../domain/core/limits.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import type { Tx } from '../../store/core/database.ts';
import { claimJob } from '../../store/jobs/jobs.ts';
import type { Message } from '../../domain/sends/plan-attempts.ts';
import { listUserDevices } from '../../store/sends/send-targets.ts';
import { countMessagesLeft, findSend, type Send, takeMessages } from '../../store/sends/sends.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { planPortion, type SendingContext, type Targets } from './plan-attempts.ts';
import { type MessageSource, sendMessages } from './send-loop.ts';
import { SendingProviders } from './sending-provider.ts';

export type SendTransactionalSteps = ReturnType<typeof sendTransactionalSteps>;

export const sendTransactionalSteps = (deps: Dependencies, providers = new SendingProviders(deps)) => ({
  /** Claims the row for this workflow; null if another has it, or it has ended. */
  async claimSend(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'send', ref, workflowRunId);
    deps.boundary('send: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Sends due messages. Returns when to continue, or null at the end. */
  sendMessages: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(async () => {
      const send = await findSend(deps.db, claim.entityId, claim.identifier);
      const takeSlot = send && send.messageCount <= SMALL_SEND ? deps.takeSmallSendSlot : deps.takeSendSlot;
      return sendMessages({ ...deps, providers }, claim, request, takeSlot);
    }),
});

/** Returns the messages of a request as a source, for one step. */
function request(): MessageSource {
  let after = -1;
  return {
    async planNext(tx, context, limit) {
      const messages = await takeNext(tx, context.send, after, limit);
      if (messages.length === 0) return null;
      after = messages.at(-1)!.ordinal;
      const outgoing = await planPortion(tx, context, messages, (chunk) => lookUpUsers(tx, context, chunk));
      return { outgoing, isFull: messages.length === limit };
    },
    // Other transactions hold these, as an erasure does.
    findNextDue: async (tx, send) => ((await countMessagesLeft(tx, send)) > 0 ? new Date() : null),
  };
}

/** Takes the next messages. After the last it begins anew: messages of a transaction that did not commit are back. */
async function takeNext(tx: Tx, send: Send, after: number, limit: number): Promise<Message[]> {
  const messages = await takeMessages(tx, send, after, limit);
  return messages.length > 0 || after === -1 ? messages : takeMessages(tx, send, -1, limit);
}

/** Finds the devices of the users of messages. */
async function lookUpUsers(tx: Tx, { send, apps }: SendingContext, messages: readonly Message[]): Promise<Targets> {
  const users = [...new Set(messages.flatMap(({ userId }) => userId ?? []))];
  const devices = await listUserDevices(tx, send.entityId, [...apps.keys()], users);
  const byUser = Map.groupBy(devices, ({ appId, userId }) => `${appId} ${userId}`);
  return {
    messages,
    devicesOf: (appId, { userId }) => (userId === null ? [] : (byUser.get(`${appId} ${userId}`) ?? [])),
  };
}
