import { table } from '../core/table.ts';
import { errorCounts } from './error-counts.ts';

type Rows = { read: number; ok: number; ignored: number; failed: number };

/** What `GET /api/attribute_values/imports/<id>` tells (docs/imports.md, Progress). */
export type ImportStatus = {
  import_id: string;
  state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';
  sor: { identifier: string } | null;
  dry_run: boolean;
  /** The import that this one is a re-drive of. */
  parent_id: string | null;
  redrives: { import_id: string; state: string; rows: Rows }[];
  /** Bytes: null until the file is stored. */
  source: { decompressed_bytes: number | null };
  /** Bytes, while the server fetches the file. */
  fetched_bytes: number | null;
  bytes_read: number;
  ended_at: string | null;
  rows: Rows & { open: number };
  errors_by_type: Record<string, number>;
  rate: number | null;
  expected_end_at: string | null;
  /** Why the file as a whole could not be imported. */
  failure: string | null;
  /** Why the end of the file could not be read. */
  defect: string | null;
};

/** Of an import, or of a run of a sync. */
export function hasEnded({ state }: Pick<ImportStatus, 'state'>): boolean {
  return state !== 'accepted' && state !== 'running';
}

/** The exit status for an import that has ended: 0 when the whole file was read and no row failed, else 2. */
export function exitStatus({ state, rows, defect }: ImportStatus): number {
  return state === 'finished' && rows.failed === 0 && defect === null ? 0 : 2;
}

/** What became of an import, for people to read. */
export function report(status: ImportStatus): string {
  const { import_id: id, state, rows, failure, defect } = status;
  const lines = status.dry_run ? ['dry run: nothing was changed'] : [];
  lines.push(`${state}: ${rows.read} rows read, ${rows.ok} ok, ${rows.ignored} ignored, ${rows.failed} failed`);
  if (status.parent_id) lines.push(`a re-drive of ${status.parent_id}`);
  if (state === 'canceled' && !status.dry_run) lines.push('what was imported before it was canceled stays');
  if (failure !== null) lines.push(failure);
  if (defect !== null) lines.push(`the end of the file could not be read: ${defect}`);
  lines.push(...errorCounts(status.errors_by_type, 'rows', `millrace errors ${id}`));
  if (status.redrives.length > 0) lines.push('', ...showRedrives(status));
  return lines.join('\n');
}

function showRedrives({ rows, redrives }: ImportStatus): string[] {
  const shown = redrives.map(({ import_id: id, state, rows: { read, ok, ignored, failed } }) =>
    [id, state, ...[read, ok, ignored, failed].map(String)]);
  return [
    table(['re-drive', 'state', 'read', 'ok', 'ignored', 'failed'], shown), '',
    `still open: ${rows.open} (rows failed and ignored that no re-drive has brought)`,
  ];
}
