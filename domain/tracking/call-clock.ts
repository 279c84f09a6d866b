import { type CallError, type Fields, invalid, isAbsent, isCallError } from './call-fields.ts';
import { type DeviceTime, readDeviceTime } from './device-time.ts';

/** All in ms since the epoch. Calls from before `oldest` or after `newest` are refused. */
export type CallTimes = {
  receivedAt: number;
  /** Of the batch, by the sender's clock. */
  sentAt: number | null;
  oldest: number;
  newest: number;
  /** For an import: timestamps count as they stand. */
  isImport?: boolean;
};

/** `note`: why the time of receipt counts, though the call names another; null otherwise. */
export type HappenedAt = { happenedAt: number; note: string | null };

/** As long as a request may be under way. A clock that seems to differ by less is right. */
const UNDER_WAY_MS = 60_000;
/** `sentAt` may be in whole seconds. */
const SECOND_MS = 1_000;

/**
 * When a call happened by our clock. What a device's clock is wrong by shows in its `sentAt`, so that the call is as
 * far before our receiving it as its timestamp is before its sending (Segment spec, common fields: timestamps). A
 * call's own
 * `sentAt` goes before its batch's. Without one the timestamp counts as it stands; without a timestamp, our receiving
 * it. A `sentAt` of less than a minute ago shows a slow request and not a wrong clock: to correct by it would bring
 * calls of quick and slow requests out of their order. One from before the call says nothing. No call happened after
 * its receipt.
 */
export function readHappenedAt(fields: Fields, times: CallTimes): HappenedAt | CallError {
  const { receivedAt, oldest, newest, isImport = false } = times;
  const field = timestampField(fields, isImport);
  const timestamp = readDeviceTime(field, fields[field]);
  if (isCallError(timestamp)) return timestamp;
  const ownSentAt: DeviceTime | CallError = isImport ? NOT_SENT : readDeviceTime('sentAt', fields.sentAt);
  if (isCallError(ownSentAt)) return ownSentAt;
  if (isImport && timestamp.isUncertain) return invalid(field, 'is of another calendar: send it in ISO 8601');
  if (isImport && timestamp.ms === null) return invalid('timestamp', 'must stand in a call of /v1/import');
  if (timestamp.ms === null) {
    return {
      happenedAt: receivedAt,
      note: timestamp.isUncertain ? `${field}: is of another calendar; the time of receipt counts` : null,
    };
  }
  const happenedAt = isImport ? timestamp.ms : correct(receivedAt, ownSentAt.ms ?? times.sentAt, timestamp.ms);
  if (happenedAt < oldest)
    return { code: 'too_old', message: `${field}: lies before ${sayInstant(oldest)}, the oldest that is kept` };
  if (happenedAt > newest) {
    const advice = isImport ? 'check the records' : "check the sender's clock, or send sentAt";
    return { code: 'in_the_future', message: `${field}: lies after ${sayInstant(newest)}; ${advice}` };
  }
  return { happenedAt: Math.min(happenedAt, receivedAt), note: null };
}

const NOT_SENT: DeviceTime = { ms: null, isUncertain: false };

/** The sender of an import has corrected its times before, in `timestamp`. */
function timestampField(fields: Fields, isImport: boolean): 'timestamp' | 'originalTimestamp' {
  const [first, second] = isImport
    ? (['timestamp', 'originalTimestamp'] as const)
    : (['originalTimestamp', 'timestamp'] as const);
  return isAbsent(fields[first]) ? second : first;
}

function correct(receivedAt: number, sentAt: number | null, timestamp: number): number {
  if (sentAt === null || timestamp - sentAt >= SECOND_MS || Math.abs(receivedAt - sentAt) <= UNDER_WAY_MS)
    return timestamp;
  return receivedAt - Math.max(sentAt - timestamp, 0);
}

function sayInstant(ms: number): string {
  return new Date(ms).toISOString();
}
