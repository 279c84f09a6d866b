/** A call of an SDK, as it is read: its types, and the codes of refusals. */

import type { Json } from '../json/plain-json.ts';

export const CALL_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const;

export type CallType = (typeof CALL_TYPES)[number];

/** Codes of refusals. `too_old` and `in_the_future` lie outside the kept period; `nobody` has no id at all. */
export const REFUSAL_CODES = [
  'invalid',
  'too_large',
  'too_old',
  'in_the_future',
  'unknown_app',
  'erased',
  'nobody',
  'too_many_aliases',
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

export type LogType = 1 | 2 | 3;

/** The device and its surroundings, from a call's `context`. A member is null if the call lacks it. */
export type CallContext = {
  appNamespace: string | null;
  appVersion: string | null;
  sdkVersion: string | null;
  platform: 'iOS App' | 'Android App' | 'Web App' | null;
  osVersion: string | null;
  deviceType: string | null;
  deviceModel: string | null;
  idiom: 'pad' | 'tablet' | 'watch-app' | 'wearable' | 'phone' | null;
  carrier: string | null;
  /** ISO 3166-1 alpha-2, upper case. */
  country: string | null;
  /** ISO 639, lower case. */
  lang: string | null;
  city: string | null;
  /** In degrees; both are set, or both are null. */
  latitude: number | null;
  longitude: number | null;
  /** The zone's offset at the time of the call, in minutes east of UTC. */
  utcOffset: number | null;
  timezone: string | null;
  pushToken: string | null;
  /** `optIn`: to push messages. `optOut`: of analytics. */
  optIn: boolean | null;
  optOut: boolean | null;
};

/** A trait: a value for the app's System of Records or an attribute of the entity's global one; null removes. */
export type Trait = { sor: 'app' | 'global'; key: string; value: Json };

export type CallEvent = {
  logType: LogType;
  name: string;
  detail: Json | null;
  /** Groups errors of one kind: 32 bytes in hex; null unless `logType` is 1. */
  fingerprint: string | null;
  crashTitle: string | null;
  transition: 'background' | 'foreground' | null;
};

/** A call of an SDK. At least one of `userId` and `deviceId` is set. */
export type Call = {
  index: number;
  messageId: string | null;
  type: CallType;
  /** Milliseconds since the epoch, by the server's clock. */
  happenedAt: number;
  /** Names members that the server took otherwise than the call has them, or null. */
  note: string | null;
  userId: string | null;
  deviceId: string | null;
  /** Null for identify, group and alias. */
  event: CallEvent | null;
  context: CallContext;
  traits: Trait[];
  /** Set for alias only. */
  previousId: string | null;
};

export type RefusedCall = { index: number; messageId: string | null; code: RefusalCode; message: string };
