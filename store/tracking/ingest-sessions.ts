import { placeCalls, reachOf, type SessionWindow } from '../../domain/tracking/session-windows.ts';
import type { Tx } from '../core/database.ts';
import type { IngestedCall, PlacedSession, PlacedSubject, SessionsOfCalls, SubjectCalls } from './ingested-call.ts';
import { lockSessionHeads, type SessionHead, toWindow } from './session-heads.ts';
import { drawSessionIds, listSessionsWithin, type Reach, upsertSessions } from './sessions.ts';

/**
 * Puts each call into a session. Holds the heads of all these subjects until the transaction ends, so that nobody else
 * changes their sessions or devices meanwhile.
 */
export async function ingestSessions(
  tx: Tx,
  entityId: number,
  subjects: SubjectCalls[],
): Promise<{ subjects: PlacedSubject[]; sessions: SessionsOfCalls }> {
  const heads = await lockSessionHeads(tx, entityId, subjects);
  const known = await findKnown(
    tx,
    entityId,
    subjects,
    heads.map(({ latest }) => latest),
  );
  const placedSubjects = subjects.map((subject, at) => placeSubject(subject, known[at]!));
  await giveIds(tx, placedSubjects, heads);
  const placed = placedSubjects.flatMap((subject) => subject.placed);
  const gone = await upsertSessions(tx, entityId, placed, placedSubjects);
  if (gone.length > 0) await beginAnew(tx, entityId, gone, placedSubjects);
  const sessions = new Map<IngestedCall, SessionWindow>();
  for (const { session, calls } of placed) for (const call of calls) sessions.set(call, session);
  return { subjects: placedSubjects, sessions };
}

/** Hardly any subject begins more than one session in a batch. */
async function giveIds(tx: Tx, subjects: PlacedSubject[], heads: SessionHead[]): Promise<void> {
  const without: SessionWindow[] = [];
  for (const [at, { placed }] of subjects.entries()) {
    const [first, ...others] = placed.filter(({ foundAt }) => foundAt === null);
    if (first) first.session.id = heads[at]!.freshId;
    without.push(...others.map(({ session }) => session));
  }
  if (without.length === 0) return;
  const ids = await drawSessionIds(tx, without.length);
  for (const [at, session] of without.entries()) session.id = ids[at]!;
}

/** Sessions that were erased since: their calls begin others. */
async function beginAnew(tx: Tx, entityId: number, gone: PlacedSession[], subjects: PlacedSubject[]): Promise<void> {
  const ids = await drawSessionIds(tx, gone.length);
  for (const [at, placed] of gone.entries()) {
    placed.foundAt = null;
    const [startedAt, endedAt] = [placed.calls[0]!.happenedAt, placed.calls.at(-1)!.happenedAt];
    Object.assign(placed.session, { id: ids[at]!, startedAt, endedAt, backgroundSeconds: 0 });
  }
  await upsertSessions(
    tx,
    entityId,
    gone,
    subjects.filter(({ placed }) => placed.some((each) => gone.includes(each))),
  );
}

/**
 * The sessions of each subject that its calls may fall into: its latest, and where a call is earlier, all around that
 * call.
 */
async function findKnown(
  tx: Tx,
  entityId: number,
  subjects: SubjectCalls[],
  heads: (SessionWindow | null)[],
): Promise<SessionWindow[][]> {
  const known = heads.map((head) => (head === null ? [] : [head]));
  const reaches = subjects.flatMap((subject, ordinal) => {
    const head = heads[ordinal]!;
    return head === null ? [] : reachesBefore(subject, head, ordinal);
  });
  if (reaches.length === 0) return known;
  for (const row of await listSessionsWithin(tx, entityId, reaches)) {
    // The latest stands at the end already, with all that its head knows.
    if (row.id !== heads[row.ordinal]!.id) known[row.ordinal]!.splice(-1, 0, toWindow(row));
  }
  return known;
}

/** Where sessions begin that calls before the latest session may fall into; those that overlap are one. */
function reachesBefore({ appId, subject, calls }: SubjectCalls, head: SessionWindow, ordinal: number): Reach[] {
  const reaches: Reach[] = [];
  for (const { happenedAt, sessionTimeout } of calls) {
    if (happenedAt >= head.startedAt) break;
    const { from, to } = reachOf(happenedAt, sessionTimeout);
    const last = reaches.at(-1);
    if (last && from <= last.to) last.to = to;
    else reaches.push({ appId, subject, ordinal, from, to });
  }
  return reaches;
}

function placeSubject(subject: SubjectCalls, known: SessionWindow[]): PlacedSubject {
  const timed = subject.calls.map(({ happenedAt, event }) => ({ happenedAt, transition: event?.transition ?? null }));
  const { sessions, ofCalls } = placeCalls(known, timed, subject.calls[0]!.sessionTimeout);
  const foundAt = new Map(known.map(({ id, startedAt }) => [id, startedAt]));
  const bySession = new Map<SessionWindow, PlacedSession>();
  for (const [at, session] of ofCalls.entries()) {
    const call = subject.calls[at]!;
    const placed = bySession.get(session);
    if (placed) placed.calls.push(call);
    else bySession.set(session, { subject, session, foundAt: foundAt.get(session.id) ?? null, calls: [call] });
  }
  return { ...subject, latest: sessions.at(-1)!, placed: [...bySession.values()] };
}
