/** Plans portions of messages as attempts: writes them, and returns those that may leave now. */

import type { PushContent } from '../../domain/campaigns/campaign-params.ts';
import { attemptOutcomeOf, messageIdOf, WAITS_FOR } from '../../domain/sends/attempt.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import {
  type AttemptContent,
  beyondLimit,
  type LimitedPush,
  type Message,
  personOf,
  planAttempts,
  type PlannedAttempt,
  type ProfileTexts,
  type SendingCampaign,
  type SendingRules,
} from '../../domain/sends/plan-attempts.ts';
import type { PushMessage, PushTarget } from '../../domain/sends/push.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import {
  listProfileTexts,
  type NamedAttribute,
  peopleAtOnce,
  profileOwner,
} from '../../store/attributes/profile-texts.ts';
import type { Tx } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { inSlices } from '../../store/core/yield-to-event-loop.ts';
import { type Person, personKey } from '../../store/gdpr/tombstones.ts';
import { drawAttemptIds, insertAttempts, type NewAttempt } from '../../store/sends/attempts.ts';
import {
  type GoneToken,
  listMessagesGone,
  lockMessageLimit,
  messageKey,
  type SendingApp,
  takeSendPace,
  updateTokensGone,
} from '../../store/sends/send-targets.ts';
import type { Send } from '../../store/sends/sends.ts';
import { type SendingProvider, targetOf } from './sending-provider.ts';

/** An attempt that may leave now. `tries` counts this one. */
export type Attempt = {
  id: number;
  campaignId: number;
  appId: number;
  deviceId: string;
  tries: number;
  isPaced: boolean;
  expiresAt: Date;
  target: PushTarget;
  token: string;
  message: PushMessage;
  provider: SendingProvider;
  limited: Limited | null;
};
/** The limit of an attempt's app, which counts it when it leaves. */
type Limited = LimitedPush & { limit: number; periodSeconds: number };
/** Facts that all messages of a send share in a step. */
export type SendingContext = {
  send: Send;
  campaigns: ReadonlyMap<number, SendingCampaign & { isSensitive: boolean }>;
  apps: ReadonlyMap<number, SendingApp>;
  providers: ReadonlyMap<number, SendingProvider>;
  now: Date;
  /** The attributes that texts of these campaigns name; null: none. */
  profile: { attributes: readonly NamedAttribute[] } | null;
  secrets: Secrets;
};

type Pushed = Pick<Attempt, 'id' | 'campaignId' | 'appId' | 'tries' | 'isPaced' | 'expiresAt' | 'limited'>;

/** Returns the facts of an attempt that its app's limit needs; null if no limit applies. */
export function limitedPush(
  { send, apps, campaigns }: SendingContext,
  {
    campaignId,
    appId,
    ordinal,
    userId,
    device,
  }: {
    campaignId: number;
    appId: number;
    ordinal: number;
    userId: string | null;
    device: TargetDevice;
  },
): Limited | null {
  const { messageLimit, messagePeriod } = apps.get(appId)!;
  if (messageLimit === null || campaigns.get(campaignId)!.skipMessageLimit) return null;
  const message = messageKey(campaignId, send.id, ordinal);
  return { person: personOf({ userId }, [device]), message, limit: messageLimit, periodSeconds: messagePeriod! };
}

/**
 * Returns the attempts beyond their app's limit, which counts messages that left, not those that wait. Locks the apps'
 * limits until the end of the transaction, in which the others leave or are marked as sending.
 */
export async function findBeyondLimit<P extends { appId: number; limited: Limited | null }>(
  tx: Tx,
  entityId: number,
  leaving: readonly P[],
): Promise<ReadonlySet<P>> {
  const limited = leaving.flatMap((push) => (push.limited ? [{ ...push.limited, push }] : []));
  const beyond: P[] = [];
  for (const [appId, own] of [...Map.groupBy(limited, ({ push }) => push.appId)].toSorted(([a], [b]) => a - b)) {
    const { limit, periodSeconds } = own[0]!;
    await lockMessageLimit(tx, entityId, appId);
    const gone = await listMessagesGone(
      tx,
      entityId,
      appId,
      [...new Set(own.map(({ person }) => person))],
      periodSeconds,
    );
    beyond.push(...Array.from(beyondLimit(own, gone, limit), ({ push }) => push));
  }
  return new Set(beyond);
}

export function toAttempt(
  attempt: Pushed,
  {
    device,
    content,
    app,
    provider,
    now,
  }: {
    device: NonNullable<PlannedAttempt['device']>;
    content: NonNullable<NonNullable<PlannedAttempt['content']>['push']>;
    app: SendingApp;
    provider: SendingProvider;
    now: Date;
  },
): Attempt {
  const token = device.pushToken!;
  return {
    ...attempt,
    deviceId: device.deviceId,
    token,
    provider,
    target: targetOf(app, token),
    message: pushMessageOf(content, attempt.id, { expiresAt: attempt.expiresAt, now }),
  };
}

/** Number of messages that are looked up and written at once. */
const CHUNK = 500;

/** Writes messages as attempts, and returns those that leave now. `lookUp` finds the devices of a chunk. */
export async function planPortion<Item>(
  tx: Tx,
  context: SendingContext,
  items: readonly Item[],
  lookUp: (chunk: readonly Item[]) => Promise<Targets>,
): Promise<Attempt[]> {
  const outgoing: Attempt[] = [];
  const gone: GoneToken[] = [];
  const chunk = context.profile === null ? CHUNK : Math.min(CHUNK, peopleAtOnce(context.profile.attributes));
  for (let from = 0; from < items.length; from += chunk) {
    const rows = await planChunk(tx, context, await lookUp(items.slice(from, from + chunk)));
    for (const row of rows) {
      if (row.outgoing) outgoing.push(row.outgoing);
      if (row.gone) gone.push(row.gone);
    }
  }
  await updateTokensGone(tx, context.send.entityId, gone);
  return outgoing;
}

/** Messages and their devices. */
export type Targets = {
  messages: readonly Message[];
  devicesOf: (appId: number, message: Message) => readonly TargetDevice[];
};

async function planChunk(tx: Tx, context: SendingContext, targets: Targets): Promise<Row[]> {
  const { send, campaigns } = context;
  const rules = rulesOfApps(context);
  const attempts = planAttempts(targets.messages, [...campaigns.values()], {
    devicesOf: targets.devicesOf,
    profileOf: await readProfiles(tx, context, targets),
    rulesOf: (appId) => rules.get(appId)!,
    isCanceled: send.cancelRequestedAt !== null,
    now: context.now,
  });
  await pace(tx, context, attempts);
  await limitSettled(tx, context, attempts);
  const { ids, now } = await drawAttemptIds(tx, attempts.length);
  const jsonOf = jsonOnce();
  const rows: Row[] = [];
  await inSlices(attempts, (attempt) => {
    rows.push(toRow(context, attempt, ids[rows.length]!, jsonOf));
  });
  await insertAttempts(
    tx,
    send.entityId,
    rows.map(({ row }) => row),
    now,
  );
  return rows;
}

/** Reads the profile values of a chunk's people, who have devices; undefined if no text names one. */
async function readProfiles(
  tx: Tx,
  { send, campaigns, profile, secrets }: SendingContext,
  { messages, devicesOf }: Targets,
): Promise<((person: string) => ProfileTexts | undefined) | undefined> {
  if (profile === null) return undefined;
  const people = new Map<string, Person>();
  for (const { appId, profileNames } of campaigns.values()) {
    if (profileNames.length === 0) continue;
    for (const message of messages) {
      const devices = devicesOf(appId, message);
      if (devices.length === 0) continue;
      people.set(personOf(message, devices), profileOwner(message.userId, devices[0]!.deviceId));
    }
  }
  const texts = await listProfileTexts(tx, secrets, send.entityId, [...people.values()], profile.attributes);
  return (person) => texts.get(personKey(people.get(person)!));
}

type JsonOf = (content: AttemptContent) => string;

/** Returns a function that makes a content JSON once, since all devices of a person get the same. */
function jsonOnce(): JsonOf {
  const known = new Map<AttemptContent, string>();
  return (content) => known.get(content) ?? known.set(content, JSON.stringify(content)).get(content)!;
}

function rulesOfApps({ apps, now }: SendingContext): Map<number, SendingRules> {
  return new Map(
    Array.from(apps, ([id, { verifiedUsers, quietHours }]) => [
      id,
      { verifiedUsers, quietUntil: endOfQuiet(quietHours, now) },
    ]),
  );
}

/**
 * Applies the app's limit to attempts that their provider settles at once: they leave in this transaction. For all
 * others the limit applies shortly before they leave.
 */
async function limitSettled(tx: Tx, context: SendingContext, planned: readonly PlannedAttempt[]): Promise<void> {
  const { send, providers, now } = context;
  const leaving = planned.flatMap((attempt) => {
    const {
      code,
      dueAt,
      campaign: { id: campaignId, appId },
      ordinal,
      userId,
      device,
    } = attempt;
    if (code !== 'PENDING' || dueAt > now || !providers.get(appId)!.settle) return [];
    return [{ attempt, appId, limited: limitedPush(context, { campaignId, appId, ordinal, userId, device: device! }) }];
  });
  for (const { attempt } of await findBeyondLimit(tx, send.entityId, leaving)) {
    attempt.code = 'MESSAGE_LIMIT';
    attempt.details = null;
    const { inapp } = attempt.content!;
    attempt.content = attempt.inappUntil === null ? null : { inapp: inapp! };
  }
}

/** Gives attempts that could leave now, of apps with a send rate, their moments. */
async function pace(
  tx: Tx,
  { send: { entityId }, apps, now }: SendingContext,
  planned: readonly PlannedAttempt[],
): Promise<void> {
  const pushes = planned.filter(({ code, dueAt }) => code === 'PENDING' && dueAt <= now);
  for (const attempt of await takePaces(
    tx,
    entityId,
    apps,
    pushes.map((own) => ({ own, appId: own.campaign.appId, dueAt: now })),
  )) {
    attempt.own.dueAt = attempt.dueAt;
    attempt.own.isPaced = true;
    if (attempt.dueAt > now) attempt.own.details = WAITS_FOR.rate;
  }
}

/** Sets `dueAt` of each attempt whose app has a send rate. */
export async function takePaces<A extends { appId: number; dueAt: Date }>(
  tx: Tx,
  entityId: number,
  apps: SendingContext['apps'],
  attempts: readonly A[],
): Promise<readonly A[]> {
  for (const [appId, own] of Map.groupBy(attempts, (attempt) => attempt.appId)) {
    const rate = apps.get(appId)!.sendRate;
    if (rate === null) continue;
    const start = await takeSendPace(tx, entityId, appId, own.length, rate);
    for (const [nth, attempt] of own.entries()) attempt.dueAt = new Date(start.getTime() + (nth * 1_000) / rate);
  }
  return attempts;
}

type Row = { row: NewAttempt; outgoing?: Attempt; gone?: GoneToken };

function toRow(context: SendingContext, attempt: PlannedAttempt, id: number, jsonOf: JsonOf): Row {
  const { send, apps, providers, now, campaigns } = context;
  const {
    campaign,
    device,
    variant,
    code,
    details,
    dueAt,
    isPaced,
    expiresAt,
    inappUntil,
    content,
    ordinal,
    userId,
    userHash,
  } = attempt;
  const isPush = code === 'PENDING';
  const provider = providers.get(campaign.appId)!;
  const row: NewAttempt = {
    id,
    campaignId: campaign.id,
    appId: campaign.appId,
    sendId: send.id,
    messageOrdinal: ordinal,
    code,
    details,
    inappUntil,
    userId,
    userHash,
    variant,
    channel: !campaign.includesPush ? 'inapp' : campaign.includesInapp ? 'both' : 'push',
    state: isPush ? 'waiting' : 'settled',
    isPaced,
    dueAt: isPush ? dueAt : null,
    expiresAt: isPush ? expiresAt : null,
    provider: isPush ? provider.name : null,
    deviceId: device?.deviceId ?? null,
    content: content && jsonOf(content),
  };
  if (!isPush) return { row };
  if (dueAt > now) return { row };
  const { id: campaignId, appId } = campaign;
  const limited = limitedPush(context, { campaignId, appId, ordinal, userId, device: device! });
  const outgoing = toAttempt(
    { id, campaignId, appId, tries: 1, isPaced, expiresAt, limited },
    {
      device: device!,
      content: content!.push!,
      app: apps.get(campaign.appId)!,
      provider,
      now,
    },
  );
  // Marked as sending shortly before it leaves.
  if (!provider.settle) return { row, outgoing };
  // Nothing leaves Millrace: the row is both the record and the act.
  const outcome = provider.settle(outgoing.target, outgoing.message);
  const settled = attemptOutcomeOf(outcome, { tries: 1, expiresAt, now });
  const isKept = settled.dueAt !== null || !campaigns.get(campaign.id)!.isSensitive;
  const stillNeeded = inappUntil === null ? null : JSON.stringify({ inapp: content!.inapp });
  return {
    row: { ...row, ...settledColumns(settled), content: isKept ? row.content : stillNeeded },
    ...(outcome.kind === 'gone' && {
      gone: { appId: campaign.appId, deviceId: outgoing.deviceId, token: outgoing.token, since: outcome.since },
    }),
  };
}

function settledColumns({ code, details, dueAt, providerMessageId }: ReturnType<typeof attemptOutcomeOf>) {
  return {
    code,
    details,
    dueAt,
    providerMessageId,
    state: dueAt === null ? ('settled' as const) : ('waiting' as const),
  };
}

function pushMessageOf(
  content: PushContent,
  attemptId: number,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): PushMessage {
  return {
    ...content,
    id: messageIdOf(attemptId),
    collapseKey: null,
    priority: 'high',
    ttlSeconds: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1_000)),
  };
}
