/** Sessions of a device or person: puts each call into one. */

/** A session of one subject: a device, or a person without one. Times are in milliseconds. */
export type SessionWindow = {
  /** Null for a session that one of these calls begins. */
  id: number | null;
  startedAt: number;
  endedAt: number;
  /** Since when the app has been in the background; null if it is not, or if that is not known. */
  backgroundedAt: number | null;
  /** Seconds in the background that end with one of these calls, beyond those that were known. */
  backgroundSeconds: number;
};

export type TimedCall = { happenedAt: number; transition: 'background' | 'foreground' | null };

type PlacedCalls = { sessions: SessionWindow[]; ofCalls: SessionWindow[] };

const LONGEST_SESSION_MS = 24 * 3600 * 1000;

/**
 * Returns the session of each of a subject's calls. `known` has its latest session and, for earlier calls, all that
 * they may fall into (`reachOf`); both are in order of time. A call belongs to the last session that began before it,
 * unless it comes more than `timeoutSeconds` after that session's end; else it extends the next one, unless it comes
 * earlier than that before its start; else it begins one. So sessions never overlap or merge. A stretch in the
 * background lasts until the next call; a late transition begins none. Calls in order give the same sessions however
 * they are split into batches.
 */
export function placeCalls(
  known: readonly SessionWindow[],
  calls: readonly TimedCall[],
  timeoutSeconds: number,
): PlacedCalls {
  const sessions = known.map((session) => ({ ...session }));
  const ofCalls = calls.map((call) => placeCall(sessions, call, timeoutSeconds * 1000));
  return { sessions, ofCalls };
}

/**
 * Returns the range in which a session must begin for a call at `happenedAt` to belong to it, in ms, both ends
 * included.
 */
export function reachOf(happenedAt: number, timeoutSeconds: number): { from: number; to: number } {
  const timeoutMs = timeoutSeconds * 1000;
  return { from: happenedAt - LONGEST_SESSION_MS - timeoutMs, to: happenedAt + timeoutMs };
}

function placeCall(sessions: SessionWindow[], call: TimedCall, timeoutMs: number): SessionWindow {
  const { happenedAt } = call;
  const index = firstAfter(sessions, happenedAt);
  const [before, after] = [sessions[index - 1], sessions[index]];
  if (before && happenedAt <= Math.min(before.endedAt + timeoutMs, before.startedAt + LONGEST_SESSION_MS)) {
    return continueSession(before, call);
  }
  if (after && happenedAt >= Math.max(after.startedAt - timeoutMs, after.endedAt - LONGEST_SESSION_MS)) {
    after.startedAt = happenedAt;
    return after;
  }
  const begun = {
    id: null,
    startedAt: happenedAt,
    endedAt: happenedAt,
    backgroundSeconds: 0,
    backgroundedAt: call.transition === 'background' ? happenedAt : null,
  };
  sessions.splice(index, 0, begun);
  return begun;
}

function firstAfter(sessions: readonly SessionWindow[], instant: number): number {
  let [low, high] = [0, sessions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sessions[middle]!.startedAt > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}

function continueSession(session: SessionWindow, { happenedAt, transition }: TimedCall): SessionWindow {
  if (happenedAt < session.endedAt) return session;
  if (session.backgroundedAt !== null) {
    // Rounded down for each stretch, so that their sum never exceeds the session.
    session.backgroundSeconds += Math.floor((happenedAt - session.backgroundedAt) / 1000);
  }
  session.backgroundedAt = transition === 'background' ? happenedAt : null;
  session.endedAt = happenedAt;
  return session;
}
