/** Says why a person would get a message of a campaign now, or would not: line by line, with what was found. */

import type { CampaignStatus, CampaignType } from '../campaigns/campaign-status.ts';
import { HOUR_MS } from '../time/durations.ts';
import { decideDevice, type TargetDevice } from './device-decision.ts';

export const DELIVERY_CHECKS = [
  'campaign',
  'known',
  'audience',
  'control_group',
  'notifications',
  'profile_values',
  'message_limit',
  'quiet_hours',
  'current_user',
  'verified',
  'analytics',
  'installed',
  'permission',
  'token',
] as const;
export type DeliveryCheck = (typeof DELIVERY_CHECKS)[number];

/** `passes`: lets the message through; `waits`: delays it; `open`: it can't be said. */
export const DELIVERY_RESULTS = ['passes', 'stops', 'waits', 'open'] as const;
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number];

export type DeliveryLine = { check: DeliveryCheck; result: DeliveryResult; found: string };

type ExplainedCampaign = {
  type: CampaignType;
  status: CampaignStatus;
  includesPush: boolean;
  includesInapp: boolean;
  skipMessageLimit: boolean;
};

export type DeliveryFacts = {
  campaign: ExplainedCampaign;
  deviceCount: number;
  /** The device has no user; a transactional message goes to users alone. */
  lacksUser: boolean;
  /** Whether the filters find the person; null: it can't be said, for `reason`. `everybody`: there are no filters. */
  audience: { found: boolean | null; reason: string | null } | 'everybody' | 'of requests';
  isInControlGroup: boolean;
  /** Messages of a dynamic campaign that the person got, and its limits. */
  notified: { count: number; lastAt: Date | null; maximum: number | null; intervalHours: number | null } | null;
  /** Attributes that the texts need and the profile lacks; null: they need none. `unread`: the right is missing. */
  lacking: readonly string[] | 'unread' | null;
  /** Messages of the app within the period of its limit; null: it has none. */
  limit: { got: number; limit: number; periodSeconds: number } | null;
  quietUntil: Date;
  now: Date;
};

/** Returns the lines about the person, in the order in which Millrace asks. */
export function explainPerson(facts: DeliveryFacts): DeliveryLine[] {
  const { campaign, isInControlGroup, quietUntil, now } = facts;
  return [
    campaignLine(campaign),
    knownLine(facts),
    audienceLine(facts.audience),
    campaign.type === 'transactional'
      ? { check: 'control_group', result: 'passes', found: 'transactional campaigns have none' }
      : isInControlGroup
        ? { check: 'control_group', result: 'stops', found: 'in the control group' }
        : { check: 'control_group', result: 'passes', found: 'not in the control group' },
    ...notificationsLine(facts),
    ...profileLine(facts),
    ...(campaign.includesPush
      ? [
          limitLine(facts),
          quietUntil > now
            ? ({
                check: 'quiet_hours',
                result: 'waits',
                found: `quiet hours until ${quietUntil.toISOString()}`,
              } as const)
            : ({ check: 'quiet_hours', result: 'passes', found: 'no quiet hours now' } as const),
        ]
      : []),
  ];
}

function knownLine({ campaign, deviceCount, lacksUser }: DeliveryFacts): DeliveryLine {
  if (deviceCount === 0) return { check: 'known', result: 'stops', found: 'no device has the app' };
  if (lacksUser && campaign.type === 'transactional')
    return { check: 'known', result: 'stops', found: 'the device has no user, and transactional messages go to users' };
  const found = `${deviceCount} ${deviceCount === 1 ? 'device has' : 'devices have'} the app`;
  return { check: 'known', result: 'passes', found };
}

const STATUS_FOUND: Record<CampaignStatus, { result: DeliveryResult; found: string }> = {
  ongoing: { result: 'passes', found: 'ongoing' },
  scheduled: { result: 'waits', found: 'scheduled: it has not begun' },
  wait_sync: { result: 'waits', found: 'its audience is being found' },
  draft: { result: 'stops', found: 'a draft: it is not launched' },
  finished: { result: 'stops', found: 'finished' },
  failed: { result: 'stops', found: 'failed' },
  canceled: { result: 'stops', found: 'canceled' },
};

function campaignLine({ status }: ExplainedCampaign): DeliveryLine {
  return { check: 'campaign', ...STATUS_FOUND[status] };
}

function audienceLine(audience: DeliveryFacts['audience']): DeliveryLine {
  if (audience === 'everybody')
    return { check: 'audience', result: 'passes', found: 'it has no filters: all people of the app' };
  if (audience === 'of requests')
    return { check: 'audience', result: 'open', found: 'each request of POST /api/transac names its users' };
  const { found, reason } = audience;
  if (found === null) return { check: 'audience', result: 'open', found: reason ?? 'not known' };
  return found
    ? { check: 'audience', result: 'passes', found: 'the filters find the person' }
    : { check: 'audience', result: 'stops', found: 'the filters do not find the person' };
}

function notificationsLine({ campaign, notified, now }: DeliveryFacts): DeliveryLine[] {
  if (campaign.type !== 'dynamic' || notified === null) return [];
  const { count, lastAt, maximum, intervalHours } = notified;
  const got = `got ${count}${maximum === null ? '' : ` of ${maximum} at most`}`;
  if (maximum !== null && count >= maximum) return [{ check: 'notifications', result: 'stops', found: got }];
  const next = lastAt === null || intervalHours === null ? null : new Date(lastAt.getTime() + intervalHours * HOUR_MS);
  if (next !== null && next > now)
    return [
      { check: 'notifications', result: 'waits', found: `${got}; the next at ${next.toISOString()} at the earliest` },
    ];
  return [{ check: 'notifications', result: 'passes', found: got }];
}

function profileLine({ lacking }: DeliveryFacts): DeliveryLine[] {
  if (lacking === null) return [];
  const line = (result: DeliveryResult, found: string): DeliveryLine[] => [{ check: 'profile_values', result, found }];
  if (lacking === 'unread') return line('open', 'this needs the right sor_manage: the text has values of the profile');
  if (lacking.length === 0) return line('passes', 'the profile has each value that has no default in the text');
  return line('stops', `the profile has no ${lacking.join(', ')}, and the text no default`);
}

function limitLine({ campaign, limit }: DeliveryFacts): DeliveryLine {
  if (limit === null) return { check: 'message_limit', result: 'passes', found: 'the app has no limit' };
  const found = `${limit.got} of ${limit.limit} messages in ${limit.periodSeconds} seconds`;
  if (campaign.skipMessageLimit)
    return { check: 'message_limit', result: 'passes', found: `${found}; the campaign ignores it` };
  return { check: 'message_limit', result: limit.got >= limit.limit ? 'stops' : 'passes', found };
}

export type ExplainedDevice = {
  deviceId: string;
  gets: 'push' | 'inapp' | 'both' | 'nothing';
  code: ReturnType<typeof decideDevice>['code'];
  lines: DeliveryLine[];
};

/** Returns what a device would get, and the lines that say why; another user's id is not among them. */
export function explainDevice(
  device: TargetDevice,
  userId: string | null,
  campaign: ExplainedCampaign,
  { verifiedUsers, hasProfileValues }: Verifying,
): ExplainedDevice {
  const { push, inapp, code } = decideDevice(device, userId, campaign, { verifiedUsers, hasProfileValues });
  const line = (check: DeliveryCheck, passes: boolean, found: string): DeliveryLine => ({
    check,
    result: passes ? 'passes' : 'stops',
    found,
  });
  const lines = [
    ...(userId === null ? [] : [line('current_user', code !== 'NOT_ON_LAST_LOGIN', loggedIn(device, userId))]),
    ...verifiedLine(device, userId, { verifiedUsers, hasProfileValues }),
    line(
      'analytics',
      !device.optOut || campaign.type === 'classic',
      device.optOut
        ? campaign.type === 'classic'
          ? 'opted out of analytics; a classic campaign reaches the device all the same'
          : 'opted out of analytics'
        : 'not opted out of analytics',
    ),
    line('installed', !device.uninstalled, device.uninstalled ? 'the app is uninstalled' : 'the app is installed'),
    ...(campaign.includesPush
      ? [
          line('permission', device.optIn !== false, permission(device)),
          line('token', device.pushToken !== null, device.pushToken === null ? 'no push token' : 'has a push token'),
        ]
      : []),
  ];
  return {
    deviceId: device.deviceId,
    gets: push ? (inapp ? 'both' : 'push') : inapp ? 'inapp' : 'nothing',
    code,
    lines,
  };
}

/** `hasProfileValues`: its texts have values of profiles, which only verified devices get if the app verifies users. */
type Verifying = { verifiedUsers: boolean; hasProfileValues: boolean };

function verifiedLine(
  { verifiedUserId }: TargetDevice,
  userId: string | null,
  { verifiedUsers, hasProfileValues }: Verifying,
): DeliveryLine[] {
  if (!verifiedUsers || (userId === null && !hasProfileValues)) return [];
  if (userId === null) {
    const found = 'the text has values of a profile, and no user is vouched for';
    return [{ check: 'verified', result: 'stops', found }];
  }
  return verifiedUserId === userId
    ? [{ check: 'verified', result: 'passes', found: 'a user token vouched for the user on the device' }]
    : [
        {
          check: 'verified',
          result: 'stops',
          found: 'no user token vouched for the user on the device, with its push token',
        },
      ];
}

function loggedIn({ currentUserId, isLoggedOut }: TargetDevice, userId: string): string {
  if (currentUserId === userId) return 'the user is logged in';
  if (currentUserId !== null) return 'somebody else is logged in';
  return isLoggedOut === true ? 'the user logged out' : 'the app has not said who is logged in';
}

function permission({ optIn }: TargetDevice): string {
  if (optIn === false) return 'pushes are turned off';
  return optIn === true ? 'pushes are allowed' : 'the app has not said whether pushes are allowed';
}

/** Returns whether a message would reach the person: a line that stops wins, then one that waits, then an open one. */
export function reachesOf(
  lines: readonly DeliveryLine[],
  devices: readonly Pick<ExplainedDevice, 'gets'>[],
): 'yes' | 'later' | 'no' | 'open' {
  const has = (result: DeliveryResult) => lines.some((line) => line.result === result);
  if (has('stops') || devices.every(({ gets }) => gets === 'nothing')) return 'no';
  if (has('waits')) return 'later';
  return has('open') ? 'open' : 'yes';
}
