import type { JobClaim } from '../../domain/jobs/job.ts';
import { WAITS_FOR } from '../../domain/sends/attempt.ts';
import { decideDevice, type TargetDevice } from '../../domain/sends/device-decision.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import { endCampaignsOf } from '../../store/campaigns/campaign-runs.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { LOOK_UP_BY_KEY } from '../../store/core/look-up-by-key.ts';
import { endJob } from '../../store/jobs/jobs.ts';
import {
  type NewOutcome,
  cancelWaiting,
  type DueAttempt,
  findNextDue,
  hasSending,
  listDueAttempts,
  putOffAttempts,
  recordOutcomes,
  settleInterrupted,
  updateQuietUntil,
} from '../../store/sends/attempts.ts';
import { lockSend, type Send } from '../../store/sends/sends.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { AttemptsUnderWay } from './attempts-under-way.ts';
import {
  contextOf,
  limitedPush,
  type Attempt,
  toAttempt,
  type SendingContext,
  takePaces,
  waitsForOthers,
} from './plan-attempts.ts';
import type { SendingProviders } from './sending-provider.ts';

/** Where the messages of a send come from: its request, or the audience of a campaign. */
export type MessageSource = {
  /** Plans the next messages as attempts; null: none is left, or due. */
  planNext(tx: Tx, context: SendingContext, limit: number): Promise<Portion | null>;
  /** When the next of its messages are due; null: none is left. */
  findNextDue?(tx: Tx, send: Send): Promise<Date | null>;
  /** When it looks for more, in another step; null: never. */
  nextLook?(context: SendingContext): Date | null;
  /** What ends with the send; when it ends, where that is later. */
  end?(tx: Tx, context: SendingContext): Promise<Date | null>;
};

/** What of a portion goes out now; whether the portion is as large as it may be. */
type Portion = { outgoing: Attempt[]; isFull: boolean };

type Sending = Dependencies & { providers: SendingProviders };

/** So many messages are planned, and sent, at once: what they hold in memory stays bounded. */
const PORTION = 1_000;
/**
 * Where no provider is waited for, so many portions are planned and written side by side: Node plans one while Postgres
 * writes another.
 */
const SIDE_BY_SIDE = 2;
/** After so long, what waits for the row of the send gets it, as a cancel does. */
const HELD_MS = 500;
/** Longer than a push waits until it leaves, and a provider takes for an answer. */
const LEFT_SENDING_MS = 60_000;
/** How often a send that waits for outcomes looks whether it is canceled, or more is due. */
const LOOK_AGAIN_MS = 1_000;
/** A send that waits longer looks whether quiet hours have changed. */
const LONG_WAIT_MS = 5_000;
/** Paced messages of this time go together, so that a high send rate takes no step for each of its messages. */
const PACED_TOGETHER_MS = 500;

/**
 * Sends what is due of a send; when to go on, or null at the end. A repeat never sends again what may have gone out.
 */
export async function sendMessages(
  deps: Sending,
  claim: JobClaim,
  open: () => MessageSource,
): Promise<RetryAfter | null> {
  const { db, boundary, draining } = deps;
  const sources = Array.from({ length: SIDE_BY_SIDE }, open);
  const underWay = new AttemptsUnderWay(deps, claim);
  let isFirst = true;
  const sendPortion = async (): Promise<RetryAfter | 'sent' | 'stuck' | null> => {
    // A repeat of the step: whether these were sent is not known.
    if (isFirst) await settleLeft(deps, claim);
    isFirst = false;
    const next = await write(db, (tx) => planNext(tx, deps, claim, sources[0]!), { settings: LOOK_UP_BY_KEY });
    if (next === null) return null;
    boundary('send: planned');
    if ('againInMs' in next) return next;
    if (!(await underWay.send(next.outgoing))) return 'stuck';
    if (next.isFull && next.outgoing.length === 0) await sendSideBySide(deps, claim, sources);
    return 'sent';
  };
  try {
    while (!draining.aborted) {
      // Outcomes that come while the portion is planned may change what it found.
      const wasEmpty = underWay.isEmpty;
      const next = await inSlot(deps.takeSendSlot, claim.entityId, sendPortion);
      if (next === 'sent') continue;
      if (next !== 'stuck' && (next === null || wasEmpty)) return next;
      // Answers are waited for without a place; then come what is due meanwhile, and a cancel.
      await underWay.settle(next === 'stuck' ? LOOK_AGAIN_MS : Math.min(next.againInMs, LOOK_AGAIN_MS));
    }
    return { againInMs: 0 };
  } finally {
    await underWay.settle();
  }
}

async function settleLeft({ db }: Sending, claim: JobClaim): Promise<void> {
  await write(db, async (tx) => {
    if (await lockSend(tx, claim)) await settleInterrupted(tx, claim.entityId, claim.jobId);
  });
}

/** Whether the time has come to look for more in another step, however much there is to send. */
function looksNow(source: MessageSource, context: SendingContext): boolean {
  const nextLook = source.nextLook?.(context) ?? null;
  return nextLook !== null && nextLook <= context.now;
}

/** Portions side by side, as long as there are some that wait for nothing, and it is not time to look for more. */
async function sendSideBySide(deps: Sending, claim: JobClaim, sources: readonly MessageSource[]): Promise<void> {
  const until = performance.now() + HELD_MS;
  const ended = await Promise.allSettled(
    sources.map(async (source) => {
      while (performance.now() < until && !deps.draining.aborted) {
        const next = await write(
          deps.db,
          async (tx) => {
            const send = await lockSend(tx, claim, { isShared: true });
            if (!send || send.cancelRequestedAt !== null) return null;
            const context = await contextOf(tx, deps, send, new Date());
            const planned =
              waitsForOthers(context) || looksNow(source, context) ? null : await source.planNext(tx, context, PORTION);
            deps.boundary('send: before a portion commits');
            return planned;
          },
          { settings: LOOK_UP_BY_KEY },
        );
        if (next === null) return;
        deps.boundary('send: planned');
      }
    }),
  );
  // None goes on in the background when the step is repeated.
  for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Plans the next attempts, and writes them down as waiting; or gives when to look again; null: all is settled, or
 * another has the send.
 */
async function planNext(
  tx: Tx,
  deps: Sending,
  claim: JobClaim,
  source: MessageSource,
): Promise<Portion | RetryAfter | null> {
  const send = await lockSend(tx, claim);
  if (!send) return null;
  const now = new Date();
  const isCanceled = send.cancelRequestedAt !== null;
  if (!isCanceled && send.sendAt !== null && send.sendAt > now) return waitUntil(send.sendAt, now);
  const context = await contextOf(tx, deps, send, now);
  if (looksNow(source, context)) return waitUntil(now, now);
  const nextLook = source.nextLook?.(context) ?? null;
  const over = [...context.campaigns.values()].filter(({ isOngoing }) => isCanceled || !isOngoing).map(({ id }) => id);
  if (over.length > 0) await cancelWaiting(tx, send.entityId, send.id, over);
  const due = await listDueAttempts(tx, send.entityId, send.id, PORTION);
  if (due.length > 0) return { outgoing: await planDueAttempts(tx, context, due), isFull: false };
  const portion = await source.planNext(tx, context, PORTION);
  if (portion) {
    deps.boundary('send: before a portion commits');
    return portion;
  }
  const nextWaiting = await findNextDue(tx, send.entityId, send.id);
  if (nextWaiting && nextWaiting.getTime() - now.getTime() > LONG_WAIT_MS && (await freeFromQuiet(tx, context))) {
    return { outgoing: [], isFull: false };
  }
  const nextDue = earlierOf(nextWaiting, (await source.findNextDue?.(tx, send)) ?? null);
  if (nextLook && (nextDue === null || nextLook <= nextDue)) return waitUntil(nextLook, now);
  if (nextDue)
    return { againInMs: Math.max(waitUntil(nextDue, now).againInMs, isPaced(context) ? PACED_TOGETHER_MS : 0) };
  // A worker that was thought lost may still be sending: the next step settles what it leaves.
  if (await hasSending(tx, send.entityId, send.id)) return { againInMs: LEFT_SENDING_MS };
  const endsAt = await source.end?.(tx, context);
  if (endsAt) return waitUntil(endsAt, now);
  await endJob(tx, 'send', send, isCanceled ? 'canceled' : 'finished');
  await endCampaignsOf(tx, send.entityId, send.id);
  return null;
}

/** Moves what waits for quiet hours that have changed since, and tells whether there was any. */
async function freeFromQuiet(tx: Tx, { send, apps, now }: SendingContext): Promise<boolean> {
  let moved = 0;
  for (const { id: appId, quietHours } of apps.values()) {
    moved += await updateQuietUntil(
      tx,
      send.entityId,
      send.id,
      { appId, quietUntil: endOfQuiet(quietHours, now) },
      PORTION,
    );
  }
  return moved > 0;
}

/** As long as a timer of Temporal's may take, and a look now and then at what changed meanwhile. */
const MAX_WAIT_MS = DAY_MS;

function waitUntil(at: Date, now: Date): RetryAfter {
  return { againInMs: Math.min(Math.max(at.getTime() - now.getTime(), 100), MAX_WAIT_MS) };
}

function isPaced({ apps }: SendingContext): boolean {
  return [...apps.values()].some(({ sendRate }) => sendRate !== null);
}

function earlierOf(one: Date | null, other: Date | null): Date | null {
  return one === null || (other !== null && other < one) ? other : one;
}

/** Attempts that waited are decided again: the person may have opted out, or logged out, meanwhile. */
async function planDueAttempts(tx: Tx, context: SendingContext, due: readonly DueAttempt[]): Promise<Attempt[]> {
  const { send, campaigns, apps, providers, now } = context;
  const settled: NewOutcome[] = [];
  const allowed: (DueAttempt & { device: TargetDevice })[] = [];
  for (const attempt of due) {
    const { id, campaignId, appId, userId, expiresAt, device } = attempt;
    const decision = device && decideDevice(device, userId, campaigns.get(campaignId)!, apps.get(appId)!);
    const end = (code: NewOutcome['code'], details: string | null) =>
      settled.push({ id, campaignId, code, details, providerMessageId: null, dueAt: null });
    if (!decision) end('NO_DEVICE_FOR_USER', 'the device is gone');
    else if (expiresAt <= now) end('EXPIRED', null);
    else if (!decision.push) end(decision.code, decision.details);
    else allowed.push({ ...attempt, device });
  }
  await recordOutcomes(tx, send.entityId, settled, 'waiting');
  const later = await putOff(tx, { send, apps, now }, allowed);
  return allowed
    .filter(({ id }) => !later.has(id))
    .map((attempt) => {
      const {
        id,
        campaignId,
        appId,
        messageOrdinal: ordinal,
        userId,
        tries,
        isPaced,
        expiresAt,
        device,
        content,
      } = attempt;
      const limited = limitedPush(context, { campaignId, appId, ordinal, userId, device });
      return toAttempt(
        { id, campaignId, appId, tries: tries + 1, isPaced, expiresAt, limited },
        {
          device,
          content: content.push!,
          app: apps.get(appId)!,
          provider: providers.get(appId)!,
          now,
        },
      );
    });
}

/**
 * Those whose time falls into quiet hours wait for their end; others that waited for something else than their moment
 * at the app's send rate get one. The ids of those that wait again.
 */
async function putOff(
  tx: Tx,
  { send: { entityId }, apps, now }: Pick<SendingContext, 'send' | 'apps' | 'now'>,
  due: readonly DueAttempt[],
): Promise<ReadonlySet<number>> {
  const later: (DueAttempt & { dueAt: Date; details: string })[] = [];
  for (const [appId, own] of Map.groupBy(due, (attempt) => attempt.appId)) {
    const quietUntil = endOfQuiet(apps.get(appId)!.quietHours, now);
    if (quietUntil > now) {
      later.push(
        ...own.map((attempt) => ({ ...attempt, isPaced: false, dueAt: quietUntil, details: WAITS_FOR.quiet })),
      );
    } else {
      const paced = own
        .filter(({ isPaced }) => !isPaced)
        .map((attempt) => ({ ...attempt, isPaced: true, dueAt: now, details: WAITS_FOR.rate }));
      later.push(...(await takePaces(tx, entityId, apps, paced)).filter(({ dueAt }) => dueAt > now));
    }
  }
  await putOffAttempts(tx, entityId, later);
  return new Set(later.map(({ id }) => id));
}
