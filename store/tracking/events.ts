import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { TrackedEvent } from '../../domain/tracking/tracked-call.ts';
import { escaped } from '../core/copy-text.ts';
import type { Tx } from '../core/database.ts';
import { type IngestedCall, type SessionsOfCalls, timestamp } from './ingested-call.ts';

/** How much of COPY's text goes into one message. */
const PIECE_LENGTH = 60_000;

/** The events of calls, each with its session; `crashes` has the id of each kind of error. */
export async function copyEvents(
  tx: Tx,
  entityId: number,
  calls: readonly IngestedCall[],
  sessions: SessionsOfCalls,
  crashes: (call: IngestedCall) => number | null,
): Promise<void> {
  const told = calls.filter(({ event }) => event !== null);
  if (told.length === 0) return;
  const columns =
    'entity_id, app_id, happened_at, session_id, crash_id, log_type, utc_offset, device_id, user_id, name, detail';
  await copyInto(tx, `COPY events (${columns}) FROM STDIN`, told, (call) => {
    const {
      appId,
      happenedAt,
      context: { utcOffset },
      deviceId,
      userId,
    } = call;
    const { logType, name, detail } = call.event as TrackedEvent;
    return `${entityId}\t${appId}\t${timestamp(happenedAt)}\t${sessions.get(call)!.id}\t${shown(crashes(call))}\t${logType}\t${shown(
      utcOffset,
    )}\t${shownText(deviceId)}\t${shownText(userId)}\t${escaped(name)}\t${
      detail === null ? '\\N' : escaped(JSON.stringify(detail))
    }\n`;
  });
}

/** Where calls that tell of it were made. */
export async function copyLocations(
  tx: Tx,
  entityId: number,
  calls: readonly IngestedCall[],
  sessions: SessionsOfCalls,
): Promise<void> {
  const located = calls.filter(({ context }) => context.latitude !== null && context.longitude !== null);
  if (located.length === 0) return;
  const columns = 'entity_id, app_id, happened_at, session_id, latitude, longitude, device_id, user_id';
  await copyInto(tx, `COPY locations (${columns}) FROM STDIN`, located, (call) => {
    const {
      appId,
      happenedAt,
      context: { latitude, longitude },
      deviceId,
      userId,
    } = call;
    return `${entityId}\t${appId}\t${timestamp(happenedAt)}\t${sessions.get(call)!.id}\t${latitude}\t${longitude}\t${shownText(
      deviceId,
    )}\t${shownText(userId)}\n`;
  });
}

async function copyInto(
  tx: Tx,
  statement: string,
  calls: IngestedCall[],
  line: (call: IngestedCall) => string,
): Promise<void> {
  await pipeline(pieces(calls, line), tx.query(copyFrom(statement)));
}

function* pieces(calls: IngestedCall[], line: (call: IngestedCall) => string): Generator<Buffer> {
  let piece = '';
  for (const call of calls) {
    piece += line(call);
    if (piece.length < PIECE_LENGTH) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}

function shown(value: number | null): string {
  return value === null ? '\\N' : String(value);
}

function shownText(text: string | null): string {
  return text === null ? '\\N' : escaped(text);
}
