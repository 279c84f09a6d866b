/** Columns of an import, and its type. */
import type { DateRule, Decimal, TableFormat, TableSettings } from '../../domain/csv/table-format.ts';
import type { ColumnMapping, TableLayout } from '../../domain/imports/table-columns.ts';
import type { SimilarLine } from '../attributes/similar-ids.ts';
import { type MailColumns, mailOf, type Row } from '../core/camel-row.ts';
import type { MailState } from '../core/mails.ts';
import { type ErrorCounts, type RowCounts, sumErrors } from './import-lanes.ts';

export type ImportState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** A pinned file with its checksum (SHA-256). */
export type StoredFile = { fileKey: string; fileBytes: number; fileSha256: Buffer };

/** A file as it came, and as it is pinned: decompressed. */
export type PinnedFile = StoredFile &
  Row<'imports', 'sourceDefect', { sourceBytes: number; sourceSha256: Buffer; sourceGzip: boolean }>;

/** Settings of how the file is read. */
export type ImportFileSettings = TableSettings & {
  decimal?: Decimal | undefined;
  nullMarker?: string | undefined;
  dates?: DateRule | undefined;
};
export type ImportFileFormat = TableFormat & { decimal: Decimal };

export type Import = RowCounts &
  Row<
    'imports',
    | 'entityId'
    | 'id'
    | 'identifier'
    | 'jid'
    | 'sorId'
    | 'version'
    | 'skipEmail'
    | 'parentId'
    | 'rootId'
    | 'state'
    | 'stage'
    | 'generation'
    | 'receivedAt'
    | 'saidAt'
    | 'startedAt'
    | 'endedAt'
    | 'columns'
    | 'hasErrorColumns'
    | 'similarIds'
    | 'shownUrl'
    | 'fetchedBytes'
    | 'fetchTries'
    | 'fetchFault',
    {
      /** A dry run rolls its merges back: it reports, and changes nothing. */
      dryRun: boolean;
      fileSettings: ImportFileSettings;
      /**
       * Null until the file's beginning is read: until then it is stored as it came, but decompressed; then as CSV in
       * UTF-8.
       */
      fileFormat: ImportFileFormat | null;
      /** Names of a table's columns; null: a file of rows. */
      columnMapping: ColumnMapping | null;
      /** Positions of these columns in the header; null until it is read. */
      tableLayout: TableLayout | null;
      similarIdLines: SimilarLine[] | null;
    }
  > & {
    /** Null until it is fetched. */
    file: PinnedFile | null;
    /** Cells without a value among the ignored rows. */
    cellsEmpty: number;
    /** Filled cells of a table in columns without a name; they count in no number of rows. */
    cellsUnnamed: number;
    mail: { state: MailState; tries: number; reason: string | null } | null;
    /** All rows that begin before this offset are done. */
    nextOffset: number;
    nextLine: number;
  };

export type PinnedImport = Import & { file: PinnedFile };

export type ReadableImport = PinnedImport & { fileFormat: ImportFileFormat };

/** A pinned file, or an address with headers to fetch it from. */
export type ImportSource = PinnedFile | { url: string; headers: Record<string, string> };

export type NewImport = Pick<Import, 'sorId' | 'version' | 'skipEmail'> &
  Partial<Pick<Import, 'dryRun' | 'parentId' | 'rootId' | 'saidAt' | 'fileSettings' | 'columnMapping'>> & {
    source: ImportSource;
  };

export type ImportColumns = Omit<Import, 'file' | 'mail' | 'errorsByType'> &
  MailColumns<MailState> &
  Omit<PinnedFile, 'fileKey'> &
  Row<'imports', 'fileKey'> & { laneErrors: ErrorCounts[] };

/** SQL: imports with the totals of their lanes. */
export const IMPORTS = `SELECT j.*, l.* FROM imports j CROSS JOIN LATERAL (
  SELECT min(next_offset) AS next_offset, min(next_line) AS next_line, sum(rows_in)::bigint AS rows_in,
    sum(rows_ok)::bigint AS rows_ok, sum(cells_empty)::bigint AS cells_empty,
    sum(cells_unnamed)::bigint AS cells_unnamed,
    sum(rows_ignored)::bigint AS rows_ignored, sum(rows_failed)::bigint AS rows_failed,
    sum(suspicious_ids)::bigint AS suspicious_ids, jsonb_agg(errors_by_type) AS lane_errors
  FROM import_lanes WHERE entity_id = j.entity_id AND import_id = j.id) l`;

export function toImport(columns: ImportColumns): Import {
  const {
    fileKey,
    fileBytes,
    fileSha256,
    sourceBytes,
    sourceSha256,
    sourceGzip,
    sourceDefect,
    mailState,
    mailTries,
    mailReason,
    laneErrors,
    ...job
  } = columns;
  return {
    ...job,
    file:
      fileKey === null ? null : { fileKey, fileBytes, fileSha256, sourceBytes, sourceSha256, sourceGzip, sourceDefect },
    mail: mailOf({ mailState, mailTries, mailReason }),
    errorsByType: sumErrors(laneErrors),
  };
}
