import { setTimeout as delay } from 'node:timers/promises';
import progress, { type GenericFormatter, SingleBar } from 'cli-progress';
import { call, type Server } from './client.ts';
import { hasEnded, type ImportStatus } from './import-status.ts';
import { Refusal, refuse } from '../domain/refusal.ts';

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 2_000;
/** As a shell has it for a command that Ctrl-C ended. */
const INTERRUPTED = 130;

const ROWS = '{bar} {percentage}% | {rows} rows | {rate} rows/s | {left} left';
const FETCHING = 'fetching the file | {fetched} MiB';
const format: GenericFormatter = (options, params, payload: { phase: string }) =>
  progress.Format.Formatter({ ...options, format: payload.phase }, params, payload);

/** How an import stands now. */
export function viewImport(server: Server, id: string): Promise<ImportStatus> {
  return call<ImportStatus>(server, 'GET', `/api/attribute_values/imports/${encodeURIComponent(id)}`);
}

/** Shows how far an import is until it has ended. Ctrl-C ends the showing, not the import. */
export async function follow(server: Server, id: string): Promise<ImportStatus> {
  const bar = new SingleBar({ format, gracefulExit: false, noTTYOutput: true, notTTYSchedule: 5_000 });
  const leave = () => {
    bar.stop();
    console.error(`The import goes on. To follow it: millrace status ${id}; to cancel it: millrace cancel ${id}`);
    process.exit(INTERRUPTED);
  };
  process.on('SIGINT', leave);        // not once: a second one would end the process before it has said so
  try {
    return await watch(server, id, bar);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refuse(error.http, error.status, `${error.message}\nThe import is not ended by this. To follow it: millrace status ${id}`);
  } finally {
    process.off('SIGINT', leave);
    bar.stop();
  }
}

async function watch(server: Server, id: string, bar: SingleBar): Promise<ImportStatus> {
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.1, LAST_POLL_MS)) {
    const status = await viewImport(server, id);
    const totalBytes = Math.max(status.source.decompressed_bytes ?? 0, 1);
    if (bar.isActive) bar.setTotal(totalBytes);
    else bar.start(totalBytes, 0, shown(status));
    bar.update(status.bytes_read, shown(status));
    if (hasEnded(status)) return status;
    await delay(pollMs);
  }
}

function shown(status: ImportStatus): object {
  return {
    phase: status.source.decompressed_bytes === null && !hasEnded(status) ? FETCHING : ROWS,
    fetched: ((status.fetched_bytes ?? 0) / 2 ** 20).toFixed(1),
    rows: status.rows.read,
    rate: Math.round(status.rate ?? 0),
    left: timeLeft(status),
  };
}

function timeLeft({ expected_end_at: end, ended_at: ended }: ImportStatus): string {
  if (ended !== null || end === null) return ended === null ? 'unknown' : '0 s';
  return `${Math.max(0, Math.round((Date.parse(end) - Date.now()) / 1000))} s`;
}
