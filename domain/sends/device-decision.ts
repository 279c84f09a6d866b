import type { CampaignType } from '../campaigns/campaign-status.ts';
import type { AttemptCode } from './attempt.ts';

/** A device as it was last heard of. */
export type TargetDevice = {
  deviceId: string;
  currentUserId: string | null;
  /** The app said that no user is logged in, and not only nothing of users. */
  isLoggedOut: boolean | null;
  verifiedUserId: string | null;
  pushToken: string | null;
  /** Of push messages; null: the app did not say. */
  optIn: boolean | null;
  /** Of analytics. */
  optOut: boolean | null;
  uninstalled: boolean | null;
};

/** What of a campaign decides with the device. */
type CampaignChannels = { type: CampaignType; includesPush: boolean; includesInapp: boolean };

/**
 * `push`: it goes to the provider; `inapp`: the device gets the in-app message; a code where it is settled without a
 * provider.
 */
type DeviceDecision = { push: boolean; inapp: boolean; code: AttemptCode; details: string | null };

const NEITHER = { push: false, inapp: false };

/**
 * What a device gets of a message for a user, or of one to the device itself (null). What an SDK says of identity is a
 * claim (design: a device is a witness): somebody else's device gets nothing, and where the app requires verified
 * users, only the one for which a signed token vouched. A campaign to an audience also reaches a device on which no
 * user ever logged in or out. A classic one reaches those who opted out of analytics, too. An in-app message needs no
 * permission for pushes, but the app.
 */
export function decideDevice(
  device: TargetDevice,
  userId: string | null,
  { type, includesPush, includesInapp }: CampaignChannels,
  { verifiedUsers }: { verifiedUsers: boolean },
): DeviceDecision {
  if (isOthers(device, userId, type)) return { ...NEITHER, code: 'NOT_ON_LAST_LOGIN', details: null };
  if (verifiedUsers && userId !== null && device.verifiedUserId !== userId) {
    return { ...NEITHER, code: 'USER_NOT_VERIFIED', details: null };
  }
  if (device.optOut && type !== 'classic') return { ...NEITHER, code: 'OPT_OUT', details: 'opted out of analytics' };
  if (device.uninstalled) return { ...NEITHER, code: 'OPT_OUT', details: 'the app is uninstalled' };
  if (!includesPush) return { push: false, inapp: includesInapp, code: 'INAPP_AVAILABLE', details: null };
  const unreachable =
    device.optIn === false ? 'pushes are turned off' : device.pushToken === null ? 'no push token' : null;
  return unreachable === null
    ? { push: true, inapp: includesInapp, code: 'PENDING', details: null }
    : { push: false, inapp: includesInapp, code: 'OPT_OUT', details: unreachable };
}

function isOthers({ currentUserId, isLoggedOut }: TargetDevice, userId: string | null, type: CampaignType): boolean {
  if (userId === null || currentUserId === userId) return false;
  return type === 'transactional' || currentUserId !== null || isLoggedOut === true;
}
