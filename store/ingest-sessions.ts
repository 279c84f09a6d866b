import type { Tx } from './database.ts';
import type { IngestedCall, PlacedSession, PlacedSubject, SessionsOfCalls, SubjectCalls } from './ingested-call.ts';
import { lockSessionHeads, toWindow, updateSessionHeads } from './session-heads.ts';
import { insertSessions, listSessionsWithin, type Reach, updateSessions } from './sessions.ts';
import { placeCalls, reachOf, type SessionWindow } from '../domain/session-windows.ts';

/**
 * Puts each call into a session. Holds the heads of all these subjects until the transaction ends, so that nobody else
 * changes their sessions or devices meanwhile.
 */
export async function ingestSessions(
  tx: Tx, entityId: number, subjects: SubjectCalls[],
): Promise<{ subjects: PlacedSubject[]; sessions: SessionsOfCalls }> {
  const heads = await lockSessionHeads(tx, entityId, subjects);
  const known = await findKnown(tx, entityId, subjects, heads);
  const placedSubjects = subjects.map((subject, at) => placeSubject(subject, heads[at]!, known[at]!));
  const placed = placedSubjects.flatMap((subject) => subject.placed);
  const gone = await updateSessions(tx, entityId, placed.filter(({ foundAt }) => foundAt !== null));
  gone.forEach(beginAnew);
  await insertSessions(tx, entityId, placed.filter(({ foundAt }) => foundAt === null));
  await updateSessionHeads(tx, entityId, placedSubjects);
  const sessions = new Map<IngestedCall, SessionWindow>();
  for (const { session, calls } of placed) for (const call of calls) sessions.set(call, session);
  return { subjects: placedSubjects, sessions };
}

/** A session that was erased since: the calls begin one of their own. */
function beginAnew(placed: PlacedSession): void {
  placed.foundAt = null;
  placed.session.startedAt = placed.calls[0]!.happenedAt;
  placed.session.endedAt = placed.calls.at(-1)!.happenedAt;
  placed.session.backgroundSeconds = 0;
}

/** The sessions of each subject that its calls may fall into: its latest, and where a call is earlier, all around that call. */
async function findKnown(
  tx: Tx, entityId: number, subjects: SubjectCalls[], heads: (SessionWindow | null)[],
): Promise<SessionWindow[][]> {
  const known = heads.map((head) => head === null ? [] : [head]);
  const reaches = subjects.flatMap((subject, place) => {
    const head = heads[place]!;
    return head === null ? [] : reachesBefore(subject, head, place);
  });
  if (reaches.length === 0) return known;
  for (const row of await listSessionsWithin(tx, entityId, reaches)) {
    // The latest stands at the end already, with all that its head knows.
    if (row.id !== heads[row.place]!.id) known[row.place]!.splice(-1, 0, toWindow(row));
  }
  return known;
}

/** Where sessions begin that calls before the latest session may fall into; those that overlap are one. */
function reachesBefore({ appId, subject, calls }: SubjectCalls, head: SessionWindow, place: number): Reach[] {
  const reaches: Reach[] = [];
  for (const { happenedAt, sessionTimeout } of calls) {
    if (happenedAt >= head.startedAt) break;
    const { from, to } = reachOf(happenedAt, sessionTimeout);
    const last = reaches.at(-1);
    if (last && from <= last.to) last.to = to;
    else reaches.push({ appId, subject, place, from, to });
  }
  return reaches;
}

function placeSubject(subject: SubjectCalls, head: SessionWindow | null, known: SessionWindow[]): PlacedSubject {
  const timed = subject.calls.map(({ happenedAt, event }) => ({ happenedAt, transition: event?.transition ?? null }));
  const { sessions, places } = placeCalls(known, timed, subject.calls[0]!.sessionTimeout);
  const foundAt = new Map(known.map(({ id, startedAt }) => [id, startedAt]));
  const bySession = new Map<SessionWindow, PlacedSession>();
  for (const [at, session] of places.entries()) {
    const call = subject.calls[at]!;
    const placed = bySession.get(session);
    if (placed) placed.calls.push(call);
    else bySession.set(session, { subject, session, foundAt: foundAt.get(session.id) ?? null, calls: [call] });
  }
  return { ...subject, head, latest: sessions.at(-1)!, placed: [...bySession.values()] };
}
