/** Decides what a device gets of a message: push, in-app message, both or neither. */

import type { CampaignType } from '../campaigns/campaign-status.ts';
import type { AttemptCode } from './attempt.ts';

export type TargetDevice = {
  deviceId: string;
  currentUserId: string | null;
  /** The app said that no user is logged in. */
  isLoggedOut: boolean | null;
  verifiedUserId: string | null;
  pushToken: string | null;
  /** For push messages; null if the app did not say. */
  optIn: boolean | null;
  /** For analytics. */
  optOut: boolean | null;
  uninstalled: boolean | null;
};

type CampaignChannels = { type: CampaignType; includesPush: boolean; includesInapp: boolean };

const NO_USER = 'its text has values of a profile, and no user is vouched for';

/** `push`: the provider gets it; `inapp`: the device; `code`: PENDING, or why no provider gets it. */
type DeviceDecision = { push: boolean; inapp: boolean; code: AttemptCode; details: string | null };

const NEITHER = { push: false, inapp: false };

/**
 * Decides what a device gets. An SDK's identity data is a claim (law: a device is a witness): another user's device
 * gets nothing. If the app requires verified users, only a device that a signed token vouched for gets it. A campaign
 * to an audience also reaches devices without any login, but not with values of a profile (`hasProfileValues`) where
 * the app requires verified users. A classic one also reaches people who opted out of analytics.
 */
export function decideDevice(
  device: TargetDevice,
  userId: string | null,
  { type, includesPush, includesInapp }: CampaignChannels,
  { verifiedUsers, hasProfileValues = false }: { verifiedUsers: boolean; hasProfileValues?: boolean },
): DeviceDecision {
  if (isOthers(device, userId, type)) return { ...NEITHER, code: 'NOT_ON_LAST_LOGIN', details: null };
  if (verifiedUsers && userId !== null && device.verifiedUserId !== userId) {
    return { ...NEITHER, code: 'USER_NOT_VERIFIED', details: null };
  }
  if (verifiedUsers && userId === null && hasProfileValues) {
    return { ...NEITHER, code: 'USER_NOT_VERIFIED', details: NO_USER };
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
