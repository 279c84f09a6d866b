/** When pushes of planned sends leave: after the quiet hours of the app, at its send rate, until they expire. */

import { endOfQuiet, type QuietHours, startOfQuiet } from '../sends/quiet-hours.ts';

export type PushLimits = { quiet: QuietHours | null; sendRate: number | null; expireAfterSeconds: number };

export type PushTimes = {
  /** When the first and the last push leave; null: none leaves. */
  from: Date | null;
  until: Date | null;
  /** Pushes that expire before. */
  expired: number;
  waitsFor: ('quiet_hours' | 'send_rate')[];
};

/**
 * Returns the times of sends in order of time, whose pushes share the rate. The send loop does the same: it moves a
 * push that is due in quiet hours to their end, and gives it a new moment at the rate there.
 */
export function pushTimes(sends: readonly { at: Date; pushes: number }[], limits: PushLimits): PushTimes[] {
  let freeAt = -Infinity;
  return sends.map((send) => {
    const { freeAt: next, ...times } = timesOf(send, freeAt, limits);
    freeAt = next;
    return times;
  });
}

function timesOf(
  { at, pushes }: { at: Date; pushes: number },
  freeAt: number,
  { quiet, sendRate, expireAfterSeconds }: PushLimits,
): PushTimes & { freeAt: number } {
  const expiresAt = at.getTime() + expireAfterSeconds * 1_000;
  const awake = endOfQuiet(quiet, at);
  const isQuiet = awake > at;
  const waitsFor: PushTimes['waitsFor'] = isQuiet ? ['quiet_hours'] : [];
  if (pushes === 0) return { from: null, until: null, expired: 0, waitsFor: [], freeAt };
  if (sendRate === null) {
    const leaves = awake.getTime() < expiresAt;
    return {
      from: leaves ? awake : null,
      until: leaves ? awake : null,
      expired: leaves ? 0 : pushes,
      waitsFor,
      freeAt,
    };
  }
  const everyMs = 1_000 / sendRate;
  let left = pushes;
  let next = endOfQuiet(quiet, new Date(Math.max(awake.getTime(), freeAt))).getTime();
  const from = next;
  let until = next;
  while (left > 0 && next < expiresAt) {
    const end = Math.min(startOfQuiet(quiet, new Date(next))?.getTime() ?? Infinity, expiresAt);
    const leaving = Math.min(left, Math.ceil((end - next) / everyMs));
    left -= leaving;
    until = next + (leaving - 1) * everyMs;
    next = left > 0 && end < expiresAt ? endOfQuiet(quiet, new Date(end)).getTime() : next + leaving * everyMs;
    if (left > 0 && end < expiresAt && !isQuiet && !waitsFor.includes('quiet_hours')) waitsFor.push('quiet_hours');
  }
  if (left === pushes) return { from: null, until: null, expired: pushes, waitsFor, freeAt };
  if (until > awake.getTime()) waitsFor.push('send_rate');
  return { from: new Date(from), until: new Date(until), expired: left, waitsFor, freeAt: next };
}
