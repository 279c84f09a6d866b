/** The loop of a send: plans portions of messages, sends their attempts, and waits for what is due next. */

import {
  type CampaignParams,
  compileInapp,
  compilePush,
  profileNamesOf,
} from '../../domain/campaigns/campaign-params.ts';
import { type ControlGroup, isInControlGroup } from '../../domain/campaigns/control-group.ts';
import { variantOf, variantParams } from '../../domain/campaigns/variants.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { WAITS_FOR } from '../../domain/sends/attempt.ts';
import { decideDevice, type TargetDevice } from '../../domain/sends/device-decision.ts';
import { type CampaignMessage, personOf, type SendingCampaign } from '../../domain/sends/plan-attempts.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import { findNamedAttributes } from '../../store/attributes/profile-texts.ts';
import { findControlGroup } from '../../store/accounts/entities.ts';
import { endCampaignsOf } from '../../store/campaigns/campaign-runs.ts';
import { type Campaign, listCampaignsById, namesOfProfile } from '../../store/campaigns/campaigns.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
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
import { listSendingApps, type SendingApp } from '../../store/sends/send-targets.ts';
import { listCampaignsOfSend, lockSend, type Send } from '../../store/sends/sends.ts';
import { findErased, peopleOfDevice, personKey } from '../../store/gdpr/tombstones.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { AttemptsUnderWay } from './attempts-under-way.ts';
import { limitedPush, type Attempt, toAttempt, type SendingContext, takePaces } from './plan-attempts.ts';
import type { SendingProvider, SendingProviders } from './sending-provider.ts';

/** The source of a send's messages: its request, or a campaign's audience. */
export type MessageSource = {
  /** Plans the next messages as attempts; null if none is left or due. */
  planNext(tx: Tx, context: SendingContext, limit: number): Promise<Portion | null>;
  /** Returns when its next messages are due; null if none is left. */
  findNextDue?(tx: Tx, send: Send): Promise<Date | null>;
  /** Returns when another step looks for more messages; null: never. */
  nextLook?(context: SendingContext): Date | null;
  /** Ends what depends on the send, or returns when that ends later. */
  end?(tx: Tx, context: SendingContext): Promise<Date | null>;
};

/** The attempts of a portion that leave now. `isFull`: the portion is as large as it may be. */
type Portion = { outgoing: Attempt[]; isFull: boolean };

type Sending = Dependencies & { providers: SendingProviders };

/** Number of messages planned and sent at once, which bounds memory. */
const PORTION = 1_000;
/** Number of portions side by side if no provider is waited for: Node plans one while Postgres writes another. */
const SIDE_BY_SIDE = 2;
/** How long portions hold the send's row, which a cancel needs. */
const HELD_MS = 500;
/** Longer than an attempt waits to leave and for its provider's answer. */
const LEFT_SENDING_MS = 60_000;
/** How often a send that waits for outcomes checks for cancellation, or for due messages. */
const LOOK_AGAIN_MS = 1_000;
/** A send that waits longer checks whether quiet hours have changed. */
const LONG_WAIT_MS = 5_000;
/** Paced messages within this time leave together, so that a high send rate takes no step for each. */
const PACED_TOGETHER_MS = 500;

/** Sends due messages. Returns when to continue, or null at the end. A repeat never sends again what may have left. */
export async function sendMessages(
  deps: Sending,
  claim: JobClaim,
  open: () => MessageSource,
  takeSlot = deps.takeSendSlot,
): Promise<RetryAfter | null> {
  const { db, boundary, draining } = deps;
  const sources = Array.from({ length: SIDE_BY_SIDE }, open);
  const underWay = new AttemptsUnderWay(deps, claim);
  let isFirst = true;
  const sendPortion = async (): Promise<RetryAfter | 'sent' | 'stuck' | null> => {
    // In a repeat of the step, nothing shows whether these left.
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
      // Outcomes that come during planning may change its result.
      const wasEmpty = underWay.isEmpty;
      const next = await inSlot(takeSlot, claim.entityId, sendPortion);
      if (next === 'sent') continue;
      if (next !== 'stuck' && (next === null || wasEmpty)) return next;
      // Waits for answers without holding a slot; then come due messages, and a cancel.
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

/** Returns whether it is time to look for more messages in another step, however many are left. */
function looksNow(source: MessageSource, context: SendingContext): boolean {
  const nextLook = source.nextLook?.(context) ?? null;
  return nextLook !== null && nextLook <= context.now;
}

/** Plans portions side by side while they wait for nothing, and it is not time to look for more. */
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
  // None may run on in the background when the step is repeated.
  for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Plans the next attempts, or returns when to look again; null if all are settled or another worker has the send. */
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
  // A worker that was thought lost may still be sending: the next step settles its attempts.
  if (await hasSending(tx, send.entityId, send.id)) return { againInMs: LEFT_SENDING_MS };
  const endsAt = await source.end?.(tx, context);
  if (endsAt) return waitUntil(endsAt, now);
  await endJob(tx, 'send', send, isCanceled ? 'canceled' : 'finished');
  await endCampaignsOf(tx, send.entityId, send.id);
  return null;
}

/** Moves attempts that wait for quiet hours which have changed, and returns whether there were any. */
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

/** Maximum wait of a Temporal timer, after which the send checks what changed. */
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

/** Decides waiting attempts again, as the person may have opted out or logged out. Returns those that leave now. */
async function planDueAttempts(tx: Tx, context: SendingContext, due: readonly DueAttempt[]): Promise<Attempt[]> {
  const { send, campaigns, apps, providers, now } = context;
  const settled: NewOutcome[] = [];
  const allowed: (DueAttempt & { device: TargetDevice })[] = [];
  const rulesOf = ({ campaignId, appId, userId }: DueAttempt, device: TargetDevice) => ({
    verifiedUsers: apps.get(appId)!.verifiedUsers,
    // Such an attempt was written before the app required verified users.
    hasProfileValues:
      context.profile !== null &&
      userId === null &&
      campaigns.get(campaignId)!.messageFor(personOf({ userId }, [device])).profileNames.length > 0,
  });
  const peopleOf = ({ userId, device }: DueAttempt) =>
    peopleOfDevice(device?.deviceId ?? null, [userId, device?.currentUserId ?? null]);
  // An erasure reaches the attempts last, or after failures.
  const erased = await findErased(tx, context.secrets, send.entityId, () => due.flatMap(peopleOf));
  const isErased = (attempt: DueAttempt) =>
    erased.size > 0 && peopleOf(attempt).some((person) => erased.has(personKey(person)));
  for (const attempt of due) {
    const { id, campaignId, userId, expiresAt, device } = attempt;
    const decision = device && decideDevice(device, userId, campaigns.get(campaignId)!, rulesOf(attempt, device));
    const end = (code: NewOutcome['code'], details: string | null) =>
      settled.push({ id, campaignId, code, details, providerMessageId: null, dueAt: null });
    if (isErased(attempt)) end('CANCELED', null);
    else if (!decision) end('NO_DEVICE_FOR_USER', 'the device is gone');
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

/** Lets attempts wait for quiet hours or for their moment at the send rate, and returns the ids of those that wait. */
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

async function contextOf(
  tx: Queryable,
  { providers: opened, secrets }: Pick<Sending, 'providers' | 'secrets'>,
  send: Send,
  now: Date,
): Promise<SendingContext> {
  const { entityId } = send;
  const campaigns = await listCampaignsById(tx, entityId, await listCampaignsOfSend(tx, entityId, send.id));
  const listed = await listSendingApps(tx, entityId, [...new Set(campaigns.map(({ appId }) => appId))]);
  const apps = campaigns.some(({ testOf }) => testOf !== null) ? withoutLimits(listed) : listed;
  const providers = new Map<number, SendingProvider>();
  for (const app of apps.values()) providers.set(app.id, await opened.of(tx, entityId, app));
  const controlGroup = campaigns.some(hasControlGroup) ? await findControlGroup(tx, entityId) : null;
  const names = [...new Set(campaigns.flatMap(namesOfProfile))];
  return {
    send,
    apps,
    providers,
    now,
    profile: names.length === 0 ? null : { attributes: await findNamedAttributes(tx, entityId, names) },
    secrets,
    campaigns: new Map(campaigns.map((campaign) => [campaign.id, compiled(campaign, controlGroup)])),
  };
}

/** A test goes now: it waits for nothing, and is none of the messages that a limit counts. */
function withoutLimits(apps: ReadonlyMap<number, SendingApp>): Map<number, SendingApp> {
  return new Map(
    Array.from(apps, ([id, app]) => [id, { ...app, quietHours: null, messageLimit: null, sendRate: null }]),
  );
}

/** Transactional messages, such as receipts, go to everybody, and a test goes to those it names. */
function hasControlGroup({ type, testOf }: Campaign): boolean {
  return type !== 'transactional' && testOf === null;
}

function compiled(campaign: Campaign, controlGroup: ControlGroup | null): SendingCampaign & { isSensitive: boolean } {
  const {
    id,
    identifier,
    type,
    appId,
    status,
    skipMessageLimit,
    endDate,
    params,
    variants,
    includesPush,
    includesInapp,
  } = campaign;
  const messageOf = (own: CampaignParams, variant: string | null): CampaignMessage => ({
    variant,
    push: includesPush ? compilePush(own) : null,
    inapp: includesInapp ? compileInapp(own) : null,
    profileNames: profileNamesOf(own, null, { push: includesPush, inapp: includesInapp }),
  });
  const whole = messageOf(params, null);
  const ofVariants =
    variants &&
    variants.map((variant) => ({
      share: variant.share,
      message: messageOf(variantParams(params, variant), variant.identifier),
    }));
  return {
    id,
    type,
    appId,
    skipMessageLimit,
    endDate,
    includesPush,
    includesInapp,
    isSensitive: campaign.isSensitive,
    isOngoing: status === 'ongoing',
    expireAfterSeconds: params.expire_after,
    profileNames: namesOfProfile(campaign),
    isHeldBack: (person) =>
      controlGroup !== null && hasControlGroup(campaign) && isInControlGroup(controlGroup, person),
    messageFor: (person) => variantOf(ofVariants, campaign.testOf ?? identifier, person)?.message ?? whole,
  };
}

/** Returns whether sending waits for a provider or a limit of the app, which only one portion at a time can use. */
function waitsForOthers({ apps, providers }: SendingContext): boolean {
  return (
    [...providers.values()].some(({ settle }) => settle === undefined) ||
    [...apps.values()].some(({ messageLimit, sendRate }) => messageLimit !== null || sendRate !== null)
  );
}
