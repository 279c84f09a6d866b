import { z } from 'zod';
import type { Import } from '../store/imports.ts';
import type { SystemOfRecord } from '../store/systems-of-records.ts';

const instant = z.iso.datetime().nullable();

/** How an import stands (beyond the reference). */
export const ImportProgressRecord = z.object({
  import_id: z.string(),
  jid: z.string(),
  state: z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
  version: z.int(),
  source: z.object({
    bytes: z.int(), sha256: z.string(), compressed: z.boolean(),
    decompressed_bytes: z.int(), decompressed_sha256: z.string(),
  }),
  defect: z.string().nullable().describe('Why the end of the file could not be read'),
  rows: z.object({ read: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() }),
  errors_by_type: z.record(z.string(), z.int()).describe('Rows ignored and failed, by error type'),
  bytes_read: z.int().describe('Of the decompressed file'),
  rate: z.number().nullable().describe('Rows per second since the start'),
  received_at: instant,
  started_at: instant,
  ended_at: instant,
  expected_end_at: instant.describe('From the bytes read so far; null where it cannot be told'),
});

export function showImportProgress(
  job: Import, sor: SystemOfRecord | null, now: Date,
): z.input<typeof ImportProgressRecord> {
  const seconds = job.startedAt ? ((job.endedAt ?? now).getTime() - job.startedAt.getTime()) / 1000 : 0;
  return {
    import_id: job.identifier,
    jid: job.jid,
    state: job.state,
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: job.version,
    source: {
      bytes: job.sourceBytes, sha256: job.sourceSha256.toString('hex'), compressed: job.sourceGzip,
      decompressed_bytes: job.fileBytes, decompressed_sha256: job.fileSha256.toString('hex'),
    },
    defect: job.sourceDefect,
    rows: { read: job.rowsIn, ok: job.rowsOk, ignored: job.rowsIgnored, failed: job.rowsFailed },
    errors_by_type: job.errorsByType,
    bytes_read: job.nextOffset,
    rate: seconds > 0 ? Math.round((job.rowsIn / seconds) * 10) / 10 : null,
    received_at: job.receivedAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    expected_end_at: expectedEnd(job, seconds, now)?.toISOString() ?? null,
  };
}

function expectedEnd({ state, nextOffset, fileBytes }: Import, seconds: number, now: Date): Date | null {
  if (state !== 'running' || nextOffset === 0 || seconds <= 0) return null;
  const secondsLeft = (fileBytes - nextOffset) * (seconds / nextOffset);
  return new Date(now.getTime() + secondsLeft * 1000);
}
