/** A session of one subject, a device or a person without one. Times in milliseconds. */
export type SessionWindow = {
  /** Null: begun by one of the calls. */
  id: number | null;
  startedAt: number;
  endedAt: number;
  /** The app has been in the background since; null where it isn't, or where that isn't known any more. */
  backgroundedAt: number | null;
  /** Whole seconds of those stretches in the background that a later call ended, on top of what was given. */
  backgroundSeconds: number;
};

export type TimedCall = { happenedAt: number; transition: 'background' | 'foreground' | null };

/** What calls come to: all sessions in the order of time, and the one of each call, in the order of the calls. */
type PlacedCalls = { sessions: SessionWindow[]; ofCalls: SessionWindow[] };

/** A call that would make a session last longer begins another. */
const LONGEST_SESSION_MS = 24 * 3600 * 1000;

/**
 * The session that each of a subject's calls falls into. `known` are its latest session and, where calls are earlier
 * than that, all that these calls may reach (`reachOf`); they stay as they are. Both are in the order of time.
 *
 * A call belongs to the last session that began before it where it comes no later than `timeoutSeconds` after its
 * end, else to the next where it comes no earlier than that before its start, and extends it; else it begins one. So
 * sessions never overlap or merge. A stretch in the background lasts from a background transition to the next call;
 * a transition that comes late, among calls that are known already, begins none.
 *
 * Calls that are delivered in order come to the same sessions however they are cut into batches.
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

/** Where a session has to begin for a call at `happenedAt` to fall into it: milliseconds, both inclusive. */
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

/** The index of the first session that begins after an instant. */
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
    // Cut for each stretch, so that they never add up to more than the session lasts.
    session.backgroundSeconds += Math.floor((happenedAt - session.backgroundedAt) / 1000);
  }
  session.backgroundedAt = transition === 'background' ? happenedAt : null;
  session.endedAt = happenedAt;
  return session;
}
