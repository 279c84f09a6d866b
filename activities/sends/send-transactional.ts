import { setTimeout as delay } from 'node:timers/promises';
import { compileInapp, compilePush } from '../../domain/campaigns/campaign-params.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { WAITS_FOR } from '../../domain/sends/attempt-code.ts';
import { pushMessageOf, settleOutcome } from '../../domain/sends/attempt-outcome.ts';
import { decideDevice, type TargetDevice } from '../../domain/sends/device-decision.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import { type PlannedAttempt, planMessages, type SendingCampaign, type SendingRules } from '../../domain/sends/plan-messages.ts';
import type { PushMessage, PushOutcome, PushTarget } from '../../domain/sends/push.ts';
import { type Campaign, listCampaignsById } from '../../store/campaigns/campaigns.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { LOOK_UP_BY_KEY } from '../../store/core/look-up-by-key.ts';
import { claimJob, endJob } from '../../store/jobs/jobs.ts';
import {
  type AttemptOutcome, cancelWaiting, drawAttemptIds, type DueAttempt, findNextDue, hasSending, insertAttempts, type NewAttempt,
  putOffAttempts, settleAttempts, settleInterrupted, takeDueAttempts,
} from '../../store/sends/attempts.ts';
import {
  countMessages, listSendingApps, listUserDevices, lockMessageLimit, type SendingApp, takeSendPace, updateTokensGone,
} from '../../store/sends/send-targets.ts';
import { listCampaignsOfSend, listMessages, lockSend, type Message, type Send, updateMessagesDone } from '../../store/sends/sends.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { type SendingProvider, SendingProviders, targetOf } from './sending-provider.ts';

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

/** So many messages are planned, or sent, at once: what they hold in memory stays bounded. */
const CHUNK = 1_000;
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
    const outcomes = await Promise.all(next.map((push) => sendOne(deps, push)));
    boundary('send: sent');
    await write(db, (tx) => settle(tx, claim.entityId, outcomes), { settings: LOOK_UP_BY_KEY });
    boundary('send: settled');
  }
  return { againInMs: 0 };
}

/** A push that is recorded as being sent. */
type OutgoingPush = {
  id: number; campaignId: number; appId: number; deviceId: string; tries: number; expiresAt: Date; target: PushTarget; token: string;
  message: PushMessage; provider: SendingProvider;
};
type SentPush = { push: OutgoingPush; outcome: PushOutcome };

async function sendOne({ log }: Sending, push: OutgoingPush): Promise<SentPush> {
  try {
    return { push, outcome: await push.provider.send(push.target, push.message) };
  } catch (error) {
    // A fault of ours, of which nothing tells whether the push went out: the others of the chunk have their outcomes.
    log.error({ attempt: push.id, provider: push.provider.name, ...internalErrorOf(error) }, 'a push failed');
    return { push, outcome: { kind: 'unknown', reason: 'an error of Millrace, which its log tells of under this attempt' } };
  }
}

async function settle(tx: Tx, entityId: number, sent: readonly SentPush[]): Promise<void> {
  const now = new Date();
  await settleAttempts(tx, entityId, sent.map(({ push: { id, campaignId, tries, expiresAt }, outcome }): AttemptOutcome => (
    { id, campaignId, ...settleOutcome(outcome, { tries, expiresAt, now }) })));
  await updateTokensGone(tx, entityId, sent.flatMap(({ push: { appId, deviceId, token }, outcome }) => (
    outcome.kind === 'gone' ? [{ appId, deviceId, token }] : [])));
}

type Context = {
  send: Send; campaigns: ReadonlyMap<number, SendingCampaign & { isSensitive: boolean }>;
  apps: ReadonlyMap<number, SendingApp>; providers: ReadonlyMap<number, SendingProvider>; now: Date;
};

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
  const due = await takeDueAttempts(tx, send.entityId, send.id, CHUNK);
  if (due.length > 0) return sendAgain(tx, context, due);
  const messages = await listMessages(tx, send, CHUNK);
  if (messages.length > 0) return planChunk(tx, context, messages);
  const nextDue = await findNextDue(tx, send.entityId, send.id);
  if (nextDue) return { againInMs: Math.max(nextDue.getTime() - now.getTime(), 100) };
  // A worker that was thought lost may still be sending: the next step settles what it leaves.
  if (await hasSending(tx, send.entityId, send.id)) return { againInMs: LEFT_SENDING_MS };
  await endJob(tx, 'send', send, isCanceled ? 'canceled' : 'finished');
  return null;
}

async function contextOf(tx: Queryable, deps: Sending, send: Send, now: Date): Promise<Context> {
  const { entityId } = send;
  const campaigns = await listCampaignsById(tx, entityId, await listCampaignsOfSend(tx, entityId, send.id));
  const apps = await listSendingApps(tx, entityId, [...new Set(campaigns.map(({ appId }) => appId))]);
  const providers = new Map<number, SendingProvider>();
  for (const app of apps.values()) providers.set(app.id, await deps.providers.of(tx, entityId, app));
  return { send, apps, providers, now, campaigns: new Map(campaigns.map((campaign) => [campaign.id, compiled(campaign)])) };
}

function compiled(campaign: Campaign): SendingCampaign & { isSensitive: boolean } {
  const { id, appId, status, skipMessageLimit, endDate, params, includesPush, includesInapp, isSensitive } = campaign;
  return {
    id, appId, skipMessageLimit, endDate, isSensitive, isOngoing: status === 'ongoing', expireAfterSeconds: params.expire_after,
    push: includesPush ? compilePush(params) : null, inapp: includesInapp ? compileInapp(params) : null,
  };
}

/** Attempts that waited are decided again: the person may have opted out, or logged out, meanwhile. */
async function sendAgain(tx: Tx, { send, campaigns, apps, providers, now }: Context, due: readonly DueAttempt[]): Promise<OutgoingPush[]> {
  const settled: AttemptOutcome[] = [];
  const allowed: (DueAttempt & { device: TargetDevice })[] = [];
  for (const attempt of due) {
    const { id, campaignId, appId, userId, expiresAt, device } = attempt;
    const channels = { includesPush: true, includesInapp: campaigns.get(campaignId)!.inapp !== null };
    const decision = device && decideDevice(device, userId, channels, apps.get(appId)!);
    const end = (code: AttemptOutcome['code'], details: string | null) =>
      settled.push({ id, campaignId, code, details, providerMessageId: null, dueAt: null });
    if (!decision) end('NO_DEVICE_FOR_USER', 'the device is gone');
    else if (expiresAt <= now) end('EXPIRED', null);
    else if (!decision.push) end(decision.code, decision.details);
    else allowed.push({ ...attempt, device });
  }
  await settleAttempts(tx, send.entityId, settled);
  const later = await putOff(tx, { send, apps, now }, allowed);
  return allowed.filter(({ id }) => !later.has(id)).map(({ id, campaignId, appId, tries, expiresAt, device, content }) => (
    outgoingPush({ id, campaignId, appId, tries, expiresAt }, {
      device, content: content.push!, app: apps.get(appId)!, provider: providers.get(appId)!, now,
    })));
}

/**
 * Those whose time falls into quiet hours wait for their end; others that waited for something else than their moment at the app's send
 * rate get one. The ids of those that wait again.
 */
async function putOff(
  tx: Tx, { send: { entityId }, apps, now }: Pick<Context, 'send' | 'apps' | 'now'>, due: readonly DueAttempt[],
): Promise<ReadonlySet<number>> {
  const later: (DueAttempt & { dueAt: Date; details: string })[] = [];
  for (const [appId, own] of Map.groupBy(due, (attempt) => attempt.appId)) {
    const quietUntil = endOfQuiet(apps.get(appId)!.quietHours, now);
    if (quietUntil > now) {
      later.push(...own.map((attempt) => ({ ...attempt, isPaced: false, dueAt: quietUntil, details: WAITS_FOR.quiet })));
    } else {
      const paced = own.filter(({ isPaced }) => !isPaced)
        .map((attempt) => ({ ...attempt, isPaced: true, dueAt: now, details: WAITS_FOR.rate }));
      later.push(...(await takePaces(tx, entityId, apps, paced)).filter(({ dueAt }) => dueAt > now));
    }
  }
  await putOffAttempts(tx, entityId, later);
  return new Set(later.map(({ id }) => id));
}

type Pushed = Pick<OutgoingPush, 'id' | 'campaignId' | 'appId' | 'tries' | 'expiresAt'>;

function outgoingPush(attempt: Pushed, { device, content, app, provider, now }: {
  device: NonNullable<PlannedAttempt['device']>; content: NonNullable<NonNullable<PlannedAttempt['content']>['push']>; app: SendingApp;
  provider: SendingProvider; now: Date;
}): OutgoingPush {
  const token = device.pushToken!;
  return {
    ...attempt, deviceId: device.deviceId, token, provider, target: targetOf(app, token),
    message: pushMessageOf(content, attempt.id, { expiresAt: attempt.expiresAt, now }),
  };
}

/** The next messages as attempts in the ledger, and those of them that go out now. */
async function planChunk(tx: Tx, context: Context, messages: readonly Message[]): Promise<OutgoingPush[]> {
  const { send, campaigns } = context;
  const users = [...new Set(messages.flatMap(({ userId }) => userId ?? []))];
  const devices = await listUserDevices(tx, send.entityId, [...context.apps.keys()], users);
  const byUser = Map.groupBy(devices, ({ appId, userId }) => `${appId} ${userId}`);
  const rules = await rulesOfApps(tx, context, users);
  const planned = planMessages(messages, [...campaigns.values()], {
    devicesOf: (appId, userId) => byUser.get(`${appId} ${userId}`) ?? [],
    rulesOf: (appId) => rules.get(appId)!,
    isCanceled: send.cancelRequestedAt !== null, now: context.now,
  });
  const { ids, now } = await drawAttemptIds(tx, planned.length);
  await pace(tx, context, planned);
  const rows = planned.map((attempt, nth) => toRow(context, attempt, ids[nth]!));
  await insertAttempts(tx, send.entityId, rows.map(({ row }) => row), now);
  await updateTokensGone(tx, send.entityId, rows.flatMap(({ gone }) => gone ?? []));
  await updateMessagesDone(tx, send, messages.at(-1)!.ordinal + 1);
  return rows.flatMap(({ outgoing }) => outgoing ?? []);
}

async function rulesOfApps(tx: Tx, { send: { entityId }, apps, campaigns, now }: Context, users: readonly string[]) {
  const rules = new Map<number, SendingRules>();
  for (const { id, verifiedUsers, quietHours, messageLimit, messagePeriod } of apps.values()) {
    const isLimited = messageLimit !== null
      && [...campaigns.values()].some(({ appId, skipMessageLimit }) => appId === id && !skipMessageLimit);
    let messagesLeft: Map<string, number> | null = null;
    if (isLimited) {
      await lockMessageLimit(tx, entityId, id);
      const counts = await countMessages(tx, entityId, id, users, messagePeriod!);
      messagesLeft = new Map(users.map((user) => [user, messageLimit - (counts.get(user) ?? 0)]));
    }
    rules.set(id, { verifiedUsers, quietUntil: endOfQuiet(quietHours, now), messagesLeft });
  }
  return rules;
}

/** Gives pushes that could go now, of apps with a send rate, their moments. */
async function pace(tx: Tx, { send: { entityId }, apps, now }: Context, planned: readonly PlannedAttempt[]): Promise<void> {
  const pushes = planned.filter(({ code, dueAt }) => code === 'PENDING' && dueAt <= now);
  for (const attempt of await takePaces(tx, entityId, apps, pushes.map((own) => ({ own, appId: own.campaign.appId, dueAt: now })))) {
    attempt.own.dueAt = attempt.dueAt;
    attempt.own.isPaced = true;
    if (attempt.dueAt > now) attempt.own.details = WAITS_FOR.rate;
  }
}

/** Sets `dueAt` of each that is of an app with a send rate. */
async function takePaces<A extends { appId: number; dueAt: Date }>(
  tx: Tx, entityId: number, apps: Context['apps'], attempts: readonly A[],
): Promise<readonly A[]> {
  for (const [appId, own] of Map.groupBy(attempts, (attempt) => attempt.appId)) {
    const rate = apps.get(appId)!.sendRate;
    if (rate === null) continue;
    const start = await takeSendPace(tx, entityId, appId, own.length, rate);
    for (const [nth, attempt] of own.entries()) attempt.dueAt = new Date(start.getTime() + nth * 1_000 / rate);
  }
  return attempts;
}

type Row = { row: NewAttempt; outgoing?: OutgoingPush; gone?: { appId: number; deviceId: string; token: string } };

function toRow({ send, apps, providers, now, campaigns }: Context, attempt: PlannedAttempt, id: number): Row {
  const { campaign, device, code, details, dueAt, isPaced, expiresAt, inappUntil, content, ordinal, userId, userHash } = attempt;
  const isPush = code === 'PENDING';
  const provider = providers.get(campaign.appId)!;
  const row: NewAttempt = {
    id, campaignId: campaign.id, appId: campaign.appId, sendId: send.id, messageOrdinal: ordinal, code, details, inappUntil, userId,
    userHash,
    channel: campaign.push === null ? 'inapp' : campaign.inapp === null ? 'push' : 'both',
    state: isPush ? 'sending' : 'settled', isPaced, dueAt: null, expiresAt: isPush ? expiresAt : null,
    provider: isPush ? provider.name : null, deviceId: device?.deviceId ?? null, content: content && JSON.stringify(content),
  };
  if (!isPush) return { row };
  if (dueAt > now) return { row: { ...row, state: 'waiting', dueAt } };
  const outgoing = outgoingPush({ id, campaignId: campaign.id, appId: campaign.appId, tries: 1, expiresAt }, {
    device: device!, content: content!.push!, app: apps.get(campaign.appId)!, provider, now,
  });
  if (!provider.settle) return { row, outgoing };
  // Nothing leaves: the row is both the record and the act.
  const outcome = provider.settle(outgoing.target, outgoing.message);
  const settled = settleOutcome(outcome, { tries: 1, expiresAt, now });
  const isKept = settled.dueAt !== null || inappUntil !== null || !campaigns.get(campaign.id)!.isSensitive;
  return {
    row: { ...row, ...settledColumns(settled), content: isKept ? row.content : null },
    ...outcome.kind === 'gone' && { gone: { appId: campaign.appId, deviceId: outgoing.deviceId, token: outgoing.token } },
  };
}

function settledColumns({ code, details, dueAt, providerMessageId }: ReturnType<typeof settleOutcome>) {
  return { code, details, dueAt, providerMessageId, state: dueAt === null ? 'settled' as const : 'waiting' as const };
}
