import type { DateRule, Decimal, TableFormat, TableSettings } from '../../domain/csv/table-format.ts';
import type { ColumnMapping, TableLayout } from '../../domain/imports/table-columns.ts';
import type { SimilarLine } from '../attributes/similar-ids.ts';
import { type MailColumns, mailOf, type Row } from '../core/camel-row.ts';
import type { MailState } from '../core/mails.ts';
import { type ErrorCounts, type RowCounts, sumErrors } from './import-lanes.ts';

export type ImportState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** A file as it lies pinned, checksummed (SHA-256). */
export type StoredFile = { fileKey: string; fileBytes: number; fileSha256: Buffer };

/** A file as it came, and as it lies pinned: decompressed. */
export type PinnedFile = StoredFile &
  Row<'imports', 'sourceDefect', { sourceBytes: number; sourceSha256: Buffer; sourceGzip: boolean }>;

/** What is set of how the file of an import is read, and how it is. */
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
      /** Its merges are rolled back: it reports, and changes nothing. */
      dryRun: boolean;
      fileSettings: ImportFileSettings;
      /** Null until its beginning was read: until then it lies as it came, but for gzip; then as CSV in UTF-8. */
      fileFormat: ImportFileFormat | null;
      /** A table whose columns are named so; null: a file of rows. */
      columnMapping: ColumnMapping | null;
      /** Where its header has them; null until it is read. */
      tableLayout: TableLayout | null;
      similarIdLines: SimilarLine[] | null;
    }
  > & {
    /** Null while it is still to be fetched. */
    file: PinnedFile | null;
    /** Cells without a value among the ignored rows. */
    cellsEmpty: number;
    /** Filled cells of a table in columns that its header does not name; in no count of rows. */
    cellsUnnamed: number;
    mail: { state: MailState; tries: number; reason: string | null } | null;
    /** All rows that begin before this place in the file are done. */
    nextOffset: number;
    nextLine: number;
  };

/** An import whose file is stored. */
export type PinnedImport = Import & { file: PinnedFile };

/** An import whose file can be read as CSV. */
export type ReadableImport = PinnedImport & { fileFormat: ImportFileFormat };

/** A file that is pinned already, or an address to fetch it from with these headers. */
export type ImportSource = PinnedFile | { url: string; headers: Record<string, string> };

export type NewImport = Pick<Import, 'sorId' | 'version' | 'skipEmail'> &
  Partial<Pick<Import, 'dryRun' | 'parentId' | 'rootId' | 'saidAt' | 'fileSettings' | 'columnMapping'>> & {
    source: ImportSource;
  };

/** Columns of `IMPORTS`. */
export type ImportColumns = Omit<Import, 'file' | 'mail' | 'errorsByType'> &
  MailColumns<MailState> &
  Omit<PinnedFile, 'fileKey'> &
  Row<'imports', 'fileKey'> & { laneErrors: ErrorCounts[] };

/** An import with what its lanes come to together. */
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
