import type { Json } from '../core/plain-json.ts';

/** The calls of Segment's tracking API. */
export const CALL_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const;

export type CallType = (typeof CALL_TYPES)[number];

/**
 * Why a call is refused: malformed, over a limit, outside the times that are kept, of no app or of several, of an
 * erased person, of nobody, one alias more than an id may have.
 */
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

/** 1 errors, 2 events, 3 background transitions (reference: Event). */
export type LogType = 1 | 2 | 3;

/** What a call tells of its device and surroundings; what it doesn't tell is null. */
export type TrackedContext = {
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
  /** Degrees; both or neither. */
  latitude: number | null;
  longitude: number | null;
  /** Minutes east of UTC of the device's zone at the time of the call. */
  utcOffset: number | null;
  /** The IANA name of that zone, where the device says one. */
  timezone: string | null;
  pushToken: string | null;
  /** Of push messages; of analytics. */
  optIn: boolean | null;
  optOut: boolean | null;
};

/** A trait: of the app's SDK System of Records, or one of those that every entity's global one has. Null removes. */
export type Trait = { sor: 'app' | 'global'; key: string; value: Json };

export type TrackedEvent = {
  logType: LogType;
  name: string;
  detail: Json | null;
  /** What groups errors: hex of 32 bytes; null unless `logType` is 1. */
  fingerprint: string | null;
  crashTitle: string | null;
  /** A background transition: the app goes to the background, or comes back. */
  transition: 'background' | 'foreground' | null;
};

/** One call of an SDK, read: at least one of `userId` and `deviceId` stands. */
export type TrackedCall = {
  index: number;
  messageId: string | null;
  type: CallType;
  /** Milliseconds since the epoch, by our clock. */
  happenedAt: number;
  /** Says which members were taken otherwise than the call has them; null: none. */
  note: string | null;
  userId: string | null;
  deviceId: string | null;
  /** Null of identify, group and alias. */
  event: TrackedEvent | null;
  context: TrackedContext;
  traits: Trait[];
  /** Of alias. */
  previousId: string | null;
};

export type RefusedCall = { index: number; messageId: string | null; code: RefusalCode; message: string };
