import { isDate, readDatetime } from '../core/date-value.ts';
import { type CallError, type Fields, invalid, isAbsent, isCallError } from './call-fields.ts';

/** All in ms since the epoch. Calls from before `oldest` or after `newest` are refused. */
export type CallTimes = {
  receivedAt: number;
  /** Of the batch, by the sender's clock. */
  sentAt: number | null;
  oldest: number;
  newest: number;
};

/**
 * When a call happened by our clock. What a device's clock is wrong by shows in its `sentAt`, so that the call is as far
 * before our receiving it as its timestamp is before its sending (Segment spec, common fields: timestamps). A call's own
 * `sentAt` goes before its batch's. Without one the timestamp counts as it stands; without a timestamp, our receiving it.
 */
export function readHappenedAt(fields: Fields, times: CallTimes): { happenedAt: number } | CallError {
  const { receivedAt, oldest, newest } = times;
  const field = isAbsent(fields.originalTimestamp) ? 'timestamp' : 'originalTimestamp';
  const timestamp = readInstant(field, fields[field]);
  if (isCallError(timestamp)) return timestamp;
  const ownSentAt = readInstant('sentAt', fields.sentAt);
  if (isCallError(ownSentAt)) return ownSentAt;
  const sentAt = ownSentAt.ms ?? times.sentAt;
  const happenedAt = correct(receivedAt, sentAt, timestamp.ms);
  if (happenedAt < oldest) return { code: 'too_old', message: `${field}: lies before ${sayInstant(oldest)}, the oldest that is kept` };
  if (happenedAt > newest) {
    return { code: 'in_the_future', message: `${field}: lies after ${sayInstant(newest)}; check the sender's clock, or send sentAt` };
  }
  return { happenedAt };
}

function correct(receivedAt: number, sentAt: number | null, timestamp: number | null): number {
  if (timestamp === null) return receivedAt;
  return sentAt === null ? timestamp : receivedAt - (sentAt - timestamp);
}

function sayInstant(ms: number): string {
  return new Date(ms).toISOString();
}

const AS_SDKS_WRITE = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** A day that is one: most times of a batch fall on the same. */
let knownDay = '';

/** What `readDatetime` would give as it stands: to take it apart takes several times as long as to read it. */
function isAsSdksWrite(text: string): boolean {
  if (!AS_SDKS_WRITE.test(text)) return false;
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  if (day !== knownDay && !isDate(day)) return false;
  knownDay = day;
  return true;
}

/** Null where it is absent. A date alone is its midnight in UTC. */
export function readInstant(field: string, value: unknown): { ms: number | null } | CallError {
  if (isAbsent(value)) return { ms: null };
  const text = typeof value === 'string' ? value.trim() : '';
  if (isAsSdksWrite(text)) return { ms: Date.parse(text) };
  const datetime = isDate(text) ? `${text}T00:00:00.000Z` : readDatetime(text);
  return datetime === undefined
    ? invalid(field, 'must be a date and time in ISO 8601, such as 2026-03-01T12:00:00.000Z')
    : { ms: Date.parse(datetime) };
}
