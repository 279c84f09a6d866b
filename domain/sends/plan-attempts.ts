/** Plans a message: one attempt for each campaign and each device of its person. */

import type { CompiledMessage, InappContent, PushContent } from '../campaigns/campaign-params.ts';
import type { CampaignType } from '../campaigns/campaign-status.ts';
import { MAX_MESSAGE_BYTES, type TemplateVars } from '../campaigns/placeholders.ts';
import { DAY_MS } from '../time/durations.ts';
import { type AttemptCode, WAITS_FOR } from './attempt.ts';
import { decideDevice, type TargetDevice } from './device-decision.ts';

export type SendingCampaign = {
  type: CampaignType;
  id: number;
  appId: number;
  isOngoing: boolean;
  skipMessageLimit: boolean;
  expireAfterSeconds: number;
  endDate: Date | null;
  includesPush: boolean;
  includesInapp: boolean;
  /** Returns whether a person (`personOf`) is in the entity's control group and gets nothing. */
  isHeldBack(person: string): boolean;
  messageFor(person: string): CampaignMessage;
  /** Names of the profile values in the texts of all its messages. */
  profileNames: readonly string[];
};

export type CampaignMessage = {
  variant: string | null;
  push: CompiledMessage<PushContent> | null;
  inapp: CompiledMessage<InappContent> | null;
  /** Names of profile values in this message. */
  profileNames: readonly string[];
};

/** A person's profile values as texts, by the names of placeholders. A value that is missing has no entry. */
export type ProfileTexts = ReadonlyMap<string, string>;

export type SendingRules = {
  verifiedUsers: boolean;
  /** When pushes may leave: now, or at the end of quiet hours. */
  quietUntil: Date;
};

/** A message to a user, to a device without one, or with `userHash` to an erased person. */
export type Message = {
  ordinal: number;
  userId: string | null;
  userHash: Buffer | null;
  vars: Readonly<Record<string, string>> | null;
};

/** Returns a message's person as analytics names people: u and the user's id, or d and the device's. */
export function personOf(
  { userId }: Pick<Message, 'userId'>,
  [device]: readonly Pick<TargetDevice, 'deviceId'>[],
): string {
  return userId === null ? `d${device!.deviceId}` : `u${userId}`;
}

/** A push of an app with a message limit. `message` is the same for all devices of a person. */
export type LimitedPush = { person: string; message: string };

/** Returns the pushes beyond the limit; a push to several devices of a person counts once in `gone`. */
export function beyondLimit<Push extends LimitedPush>(
  pushes: readonly Push[],
  gone: Map<string, Set<string>>,
  limit: number,
): Set<Push> {
  const beyond = new Set<Push>();
  for (const push of pushes) {
    const messages = gone.get(push.person) ?? new Set();
    if (!messages.has(push.message) && messages.size >= limit) beyond.add(push);
    else gone.set(push.person, messages.add(push.message));
  }
  return beyond;
}

export type AttemptContent = { push?: PushContent; inapp?: InappContent };

/** An attempt that is not written yet: waiting if `code` is PENDING, else settled. */
export type PlannedAttempt = {
  ordinal: number;
  campaign: SendingCampaign;
  userId: string | null;
  userHash: Buffer | null;
  device: TargetDevice | null;
  variant: string | null;
  code: AttemptCode;
  details: string | null;
  dueAt: Date;
  expiresAt: Date;
  /** True if `dueAt` is its moment at the app's send rate. */
  isPaced: boolean;
  inappUntil: Date | null;
  content: AttemptContent | null;
};

/** An in-app message lasts as long as its attempt is kept. */
const MAX_INAPP_MS = 30 * DAY_MS;

const TOO_BIG = `with its values the message has more than ${MAX_MESSAGE_BYTES} bytes`;

type Target = { message: Message; campaign: SendingCampaign; variant: string | null };

/** Plans the attempts of messages: one for each campaign and device of the user, or one with NO_DEVICE_FOR_USER. */
export function planAttempts(
  messages: readonly Message[],
  campaigns: readonly SendingCampaign[],
  {
    devicesOf,
    profileOf,
    rulesOf,
    isCanceled,
    now,
  }: {
    devicesOf: (appId: number, message: Message) => readonly TargetDevice[];
    /** Absent: no message of these campaigns names a profile value. */
    profileOf?: ((person: string) => ProfileTexts | undefined) | undefined;
    rulesOf: (appId: number) => SendingRules;
    isCanceled: boolean;
    now: Date;
  },
): PlannedAttempt[] {
  return messages.flatMap((message) =>
    campaigns.flatMap((campaign) => {
      const target = { message, campaign, variant: null };
      const devices = devicesOf(campaign.appId, message);
      if (devices.length === 0)
        return [settled(target, null, 'NO_DEVICE_FOR_USER', message.userHash === null ? null : 'erased', now)];
      if (isCanceled || !campaign.isOngoing)
        return devices.map((device) => settled(target, device, 'CANCELED', null, now));
      return planForPerson(target, devices, { rules: rulesOf(campaign.appId), profileOf, now });
    }),
  );
}

function planForPerson(
  target: Target,
  devices: readonly TargetDevice[],
  {
    rules,
    profileOf,
    now,
  }: { rules: SendingRules; profileOf: ((person: string) => ProfileTexts | undefined) | undefined; now: Date },
): PlannedAttempt[] {
  const { campaign } = target;
  const person = personOf(target.message, devices);
  if (campaign.isHeldBack(person)) return devices.map((device) => settled(target, device, 'CONTROL_GROUP', null, now));
  const message = campaign.messageFor(person);
  const vars = withProfile(target.message.vars ?? {}, message.profileNames, () => profileOf?.(person));
  const push = message.push?.render(vars);
  const inapp = message.inapp?.render(vars);
  const missing = [
    ...(push && 'missing' in push ? push.missing : []),
    ...(inapp && 'missing' in inapp ? inapp.missing : []),
  ];
  const isTooBig = [push, inapp].some((rendered) => rendered && 'isTooBig' in rendered);
  const content = {
    ...(push && 'message' in push && { push: push.message }),
    ...(inapp && 'message' in inapp && { inapp: inapp.message }),
  };
  const inappAlone = { inappUntil: inappEnd(campaign, now), content: { inapp: content.inapp! } };
  const own = { ...target, variant: message.variant };
  const ownRules = { verifiedUsers: rules.verifiedUsers, hasProfileValues: message.profileNames.length > 0 };
  return devices.map((device): PlannedAttempt => {
    const decision = decideDevice(device, target.message.userId, campaign, ownRules);
    if (!decision.push && !decision.inapp) return settled(own, device, decision.code, decision.details, now);
    if (missing.length > 0) {
      return settled(own, device, 'MISSING_TEMPLATE_PARAMS', `no value for ${[...new Set(missing)].join(', ')}`, now);
    }
    if (isTooBig) return settled(own, device, 'MESSAGE_TO_BIG', TOO_BIG, now);
    const planned = settled(own, device, decision.code, decision.details, now);
    const withInapp = decision.inapp ? inappAlone : {};
    if (!decision.push) return { ...planned, ...withInapp };
    const isQuiet = rules.quietUntil > now;
    return {
      ...planned,
      ...withInapp,
      content,
      dueAt: rules.quietUntil,
      details: isQuiet ? WAITS_FOR.quiet : planned.details,
    };
  });
}

/** Adds profile values to a message's variables, which can't replace them. */
function withProfile(
  vars: NonNullable<Message['vars']>,
  names: readonly string[],
  profileOf: () => ProfileTexts | undefined,
): TemplateVars {
  if (names.length === 0) return vars;
  const profile = profileOf();
  return { ...vars, ...Object.fromEntries(names.map((name) => [name, profile?.get(name)])) };
}

function inappEnd({ endDate }: SendingCampaign, now: Date): Date {
  const latest = now.getTime() + MAX_INAPP_MS;
  return new Date(Math.min(endDate?.getTime() ?? latest, latest));
}

function settled(
  { message: { ordinal, userId, userHash }, campaign, variant }: Target,
  device: TargetDevice | null,
  code: AttemptCode,
  details: string | null,
  now: Date,
): PlannedAttempt {
  return {
    ordinal,
    campaign,
    userId,
    userHash,
    device,
    variant,
    code,
    details,
    dueAt: now,
    isPaced: false,
    inappUntil: null,
    content: null,
    expiresAt: new Date(now.getTime() + campaign.expireAfterSeconds * 1_000),
  };
}
