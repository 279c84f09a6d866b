import { constants, openAsBlob } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { call, type Server } from './client.ts';
import { table } from './table.ts';
import { refuse } from '../domain/refusal.ts';

/** What `GET /api/attribute_values/imports/<id>` tells (docs/beyond-the-reference.md). */
type ImportStatus = {
  import_id: string;
  state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';
  source: { decompressed_bytes: number };
  bytes_read: number;
  ended_at: string | null;
  rows: { read: number; ok: number; ignored: number; failed: number };
  errors_by_type: Record<string, number>;
  rate: number | null;
  expected_end_at: string | null;
  /** Why the end of the file could not be read. */
  defect: string | null;
};

export type ImportOptions = { sor: string; apiKey?: string | undefined };

const POLL_MS = 250;

/**
 * Uploads a file, shows how far its import is, and prints what became of the rows.
 * Returns the exit status: 0 when the whole file was read and no row failed, 2 otherwise.
 */
export async function importFile(server: Server, path: string, options: ImportOptions): Promise<number> {
  const apiKey = options.apiKey ?? await findApiKey(server, options.sor);
  const form = new FormData();
  form.set('sor_id', options.sor);
  form.set('api_key', apiKey);
  form.set('skip_email', 'true');
  form.set('file', await openFile(path), basename(path));
  const { import_id: id } = await call<{ import_id: string }>(server, 'POST', '/api/attribute_values/batch_import', form);
  console.log(`import ${id}`);
  if (!server.token) {
    console.log('MILLRACE_TOKEN is not set, so its progress cannot be shown.');
    return 0;
  }
  const status = await follow(server, id);
  console.log(report(status));
  return status.state === 'finished' && status.rows.failed === 0 && status.defect === null ? 0 : 2;
}

async function openFile(path: string): Promise<Blob> {
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) =>
    refuse(400, 'unreadable', `${path} cannot be read (${error.code ?? error.message}).`));
  return openAsBlob(path);
}

async function findApiKey(server: Server, sor: string): Promise<string> {
  if (!server.token) {
    return refuse(401, 'no_token', 'Set MILLRACE_TOKEN, with which the SoR\'s key is fetched, or give the key by --api-key.');
  }
  const { api_keys: keys } = await call<{ api_keys: string[] }>(server, 'GET', `/api/system_of_records/${encodeURIComponent(sor)}`);
  return keys[0] ?? refuse(404, 'no_key', `The System of Record ${sor} has no API key: only custom ones take files.`);
}

async function follow(server: Server, id: string): Promise<ImportStatus> {
  const bar = new SingleBar({
    format: '{bar} {percentage}% | {rows} rows | {rate} rows/s | {left} left',
    hideCursor: true, noTTYOutput: true, notTTYSchedule: 5_000,
  });
  try {
    for (let isDrawn = false; ; await delay(POLL_MS)) {
      const status = await call<ImportStatus>(server, 'GET', `/api/attribute_values/imports/${id}`);
      const shown = { rows: status.rows.read, rate: Math.round(status.rate ?? 0), left: timeLeft(status) };
      if (!isDrawn) bar.start(Math.max(status.source.decompressed_bytes, 1), 0, shown);
      isDrawn = true;
      bar.update(status.bytes_read, shown);
      if (status.state !== 'accepted' && status.state !== 'running') return status;
    }
  } finally {
    bar.stop();
  }
}

function timeLeft({ expected_end_at: end, ended_at: ended }: ImportStatus): string {
  if (ended !== null || end === null) return ended === null ? 'unknown' : '0 s';
  return `${Math.max(0, Math.round((Date.parse(end) - Date.now()) / 1000))} s`;
}

function report({ state, rows, errors_by_type: errors, import_id: id, defect }: ImportStatus): string {
  const lines = [`${state}: ${rows.read} rows read, ${rows.ok} ok, ${rows.ignored} ignored, ${rows.failed} failed`];
  if (defect !== null) lines.push(`the end of the file could not be read: ${defect}`);
  const byType = Object.entries(errors).toSorted(([, one], [, other]) => other - one);
  if (byType.length > 0) {
    lines.push('', table(['error', 'rows'], byType.map(([type, count]) => [type, String(count)])), '',
      `Each with its line and reason: millrace errors ${id}`);
  }
  return lines.join('\n');
}
