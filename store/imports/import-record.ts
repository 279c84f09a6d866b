import type { MailState } from '../core/mails.ts';
import { type ErrorCounts, type RowCounts, sumErrors } from './import-lanes.ts';

export type ImportState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** A file as it came, and as it lies pinned: decompressed and checksummed (SHA-256). */
export type PinnedFile = {
  fileKey: string;
  fileBytes: number;
  fileSha256: Buffer;
  sourceBytes: number;
  sourceSha256: Buffer;
  sourceGzip: boolean;
  /** Why the end of the source could not be read: what came before it is imported all the same. */
  sourceDefect: string | null;
};

export type Import = RowCounts & {
  entityId: number;
  id: number;
  identifier: string;
  jid: string;
  sorId: number;
  version: 2 | 3;
  skipEmail: boolean;
  /** Its merges are rolled back: it reports, and changes nothing. */
  dryRun: boolean;
  /** The import whose errors this one re-drives. */
  parentId: number | null;
  /** The import at the beginning of such a chain: the lines of error files are those of its file. */
  rootId: number | null;
  state: ImportState;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** Null while it is still to be fetched. */
  file: PinnedFile | null;
  /** Of the file's rows; null until its header is read. */
  columns: 3 | 4 | null;
  /** An error file, corrected: its rows name the lines of the first import's file that they correct. */
  hasErrorColumns: boolean;
  /** Where the file comes from, as it may be shown; null for an upload. */
  shownUrl: string | null;
  /** Of the attempt under way; how many there were, and why the last one came to nothing. */
  fetchedBytes: number | null;
  fetchTries: number;
  fetchFault: string | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
  /** All rows that begin before this place in the file are done. */
  nextOffset: number;
  nextLine: number;
};

/** An import whose file is stored. */
export type PinnedImport = Import & { file: PinnedFile };

/** A file that is pinned already, or an address to fetch it from with these headers. */
export type ImportSource = PinnedFile | { url: string; headers: Record<string, string> };

export type NewImport = Pick<Import, 'sorId' | 'version' | 'skipEmail'> & Partial<Pick<Import, 'dryRun' | 'parentId' | 'rootId'>> & {
  source: ImportSource;
};

/** A row of `IMPORTS`. */
export type ImportRow = {
  entity_id: number; id: number; identifier: string; jid: string; sor_id: number; version: 2 | 3; skip_email: boolean;
  dry_run: boolean; parent_id: number | null; root_id: number | null; state: ImportState; generation: number; received_at: Date;
  started_at: Date | null; ended_at: Date | null; file_key: string | null; file_bytes: number; file_sha256: Buffer;
  source_bytes: number; source_sha256: Buffer; source_gzip: boolean; source_defect: string | null; columns: 3 | 4 | null;
  has_error_columns: boolean; shown_url: string | null; fetched_bytes: number | null; fetch_tries: number; fetch_fault: string | null;
  mail_state: MailState | null; mail_tries: number; mail_reason: string | null; next_offset: number; next_line: number;
  rows_in: number; rows_ok: number; rows_ignored: number; rows_failed: number; lane_errors: ErrorCounts[];
};

/** An import with what its lanes come to together. */
export const IMPORTS = `SELECT j.*, l.* FROM imports j CROSS JOIN LATERAL (
  SELECT min(next_offset) AS next_offset, min(next_line) AS next_line, sum(rows_in)::bigint AS rows_in,
    sum(rows_ok)::bigint AS rows_ok, sum(rows_ignored)::bigint AS rows_ignored, sum(rows_failed)::bigint AS rows_failed,
    jsonb_agg(errors_by_type) AS lane_errors
  FROM import_lanes WHERE entity_id = j.entity_id AND import_id = j.id) l`;

export function toImport(row: ImportRow): Import {
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, jid: row.jid, sorId: row.sor_id,
    version: row.version, skipEmail: row.skip_email, dryRun: row.dry_run, parentId: row.parent_id, rootId: row.root_id,
    state: row.state,
    generation: row.generation, receivedAt: row.received_at, startedAt: row.started_at, endedAt: row.ended_at,
    file: toFile(row), columns: row.columns,
    hasErrorColumns: row.has_error_columns, shownUrl: row.shown_url, fetchedBytes: row.fetched_bytes, fetchTries: row.fetch_tries,
    fetchFault: row.fetch_fault,
    mail: row.mail_state && { state: row.mail_state, tries: row.mail_tries, reason: row.mail_reason },
    nextOffset: row.next_offset, nextLine: row.next_line, rowsIn: row.rows_in, rowsOk: row.rows_ok,
    rowsIgnored: row.rows_ignored, rowsFailed: row.rows_failed, errorsByType: sumErrors(row.lane_errors),
  };
}

function toFile(row: ImportRow): PinnedFile | null {
  return row.file_key === null ? null : {
    fileKey: row.file_key, fileBytes: row.file_bytes, fileSha256: row.file_sha256, sourceBytes: row.source_bytes,
    sourceSha256: row.source_sha256, sourceGzip: row.source_gzip, sourceDefect: row.source_defect,
  };
}
