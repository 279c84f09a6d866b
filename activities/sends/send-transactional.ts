import { setTimeout as delay } from 'node:timers/promises';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { LOOK_UP_BY_KEY } from '../../store/core/look-up-by-key.ts';
import { claimJob, endJob } from '../../store/jobs/jobs.ts';
import { cancelWaiting, findNextDue, hasSending, settleInterrupted, takeDueAttempts } from '../../store/sends/attempts.ts';
import { listMessages, lockSend } from '../../store/sends/sends.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { contextOf, type OutgoingPush, planPortion } from './plan-attempts.ts';
import { sendAgain, sendPush, settlePushes } from './send-attempts.ts';
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
  sendMessages: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => sendMessages({ ...deps, providers }, claim)),
});

/** So many messages are planned, and sent, at once: what they hold in memory stays bounded. */
const PORTION = 1_000;
/** The same where no provider is waited for. */
const PORTION_AT_ONCE = 2_500;
/** Longer than a provider takes for an answer. */
const LEFT_SENDING_MS = 45_000;
/** A wait that is shorter is spent in the step. */
const SHORT_WAIT_MS = 10_000;

type Sending = Dependencies & { providers: SendingProviders };

async function sendMessages(deps: Sending, claim: JobClaim): Promise<RetryAfter | null> {
  const { db, boundary, draining } = deps;
  // A repeat of the step: whether these were sent is not known.
  await write(db, async (tx) => {
    if (await lockSend(tx, claim)) await settleInterrupted(tx, claim.entityId, claim.runId);
  });
  while (!draining.aborted) {
    const next = await write(db, (tx) => planNext(tx, deps, claim), { settings: LOOK_UP_BY_KEY });
    if (next === null) return null;
    boundary('send: planned');
    if ('againInMs' in next) {
      if (next.againInMs > SHORT_WAIT_MS) return next;
      await delay(next.againInMs, undefined, { signal: draining }).catch(() => {});
      continue;
    }
    if (next.length === 0) continue;
    const outcomes = await Promise.all(next.map((push) => sendPush(deps, push)));
    boundary('send: sent');
    await write(db, (tx) => settlePushes(tx, claim.entityId, outcomes), { settings: LOOK_UP_BY_KEY });
    boundary('send: settled');
  }
  return { againInMs: 0 };
}

/** What is to be sent now, recorded as being sent; when to look again; null: all is settled, or the send is another's. */
async function planNext(tx: Tx, deps: Sending, claim: JobClaim): Promise<OutgoingPush[] | RetryAfter | null> {
  const send = await lockSend(tx, claim);
  if (!send) return null;
  const now = new Date();
  const isCanceled = send.cancelRequestedAt !== null;
  if (!isCanceled && send.sendAt !== null && send.sendAt > now) return { againInMs: send.sendAt.getTime() - now.getTime() };
  const context = await contextOf(tx, deps, send, now);
  const over = [...context.campaigns.values()].filter(({ isOngoing }) => isCanceled || !isOngoing).map(({ id }) => id);
  if (over.length > 0) await cancelWaiting(tx, send.entityId, send.id, over);
  const due = await takeDueAttempts(tx, send.entityId, send.id, PORTION);
  if (due.length > 0) return sendAgain(tx, context, due);
  const isAtOnce = [...context.providers.values()].every(({ settle }) => settle !== undefined);
  const messages = await listMessages(tx, send, isAtOnce ? PORTION_AT_ONCE : PORTION);
  if (messages.length > 0) {
    const outgoing = await planPortion(tx, context, messages);
    deps.boundary('send: before a portion commits');
    return outgoing;
  }
  const nextDue = await findNextDue(tx, send.entityId, send.id);
  if (nextDue) return { againInMs: Math.max(nextDue.getTime() - now.getTime(), 100) };
  // A worker that was thought lost may still be sending: the next step settles what it leaves.
  if (await hasSending(tx, send.entityId, send.id)) return { againInMs: LEFT_SENDING_MS };
  await endJob(tx, 'send', send, isCanceled ? 'canceled' : 'finished');
  return null;
}

