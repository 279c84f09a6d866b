import { jsonText } from '../attributes/json-value.ts';
import type { RefusedRow } from '../attributes/value-row.ts';
import { shorten } from '../text/text-limits.ts';
import { INTERNAL_FAILURE, type RunErrorType } from './import-error-type.ts';

/**
 * Which step refused the row (reference: `source`, the processing stage). `internal`: an error in Millrace ended the
 * import.
 */
export type ImportStage = 'transfer' | 'parsing' | 'validation' | 'merge' | 'internal';

/** What became of a row that changed nothing: one record for each, so that no row is lost. */
export type ImportError = {
  /** Physical line of the file on which the record starts; 0 for the file as a whole. */
  line: number;
  /**
   * Column of the cell in a table whose columns are mapped, from 1; of a whole line none, or 0: no single cell makes up
   * for it.
   */
  column?: number;
  errorType: RunErrorType;
  outcome: 'ignored' | 'failed';
  stage: ImportStage;
  message: string;
  customerId: string | null;
  attributeKey: string | null;
  /** The record as it stands in the file; of one over 1 MiB its first 2 KiB. */
  raw: string | null;
  /** Of a row of an error file: the line of the first file that it corrects. */
  originalLine: number | null;
  /** Beside originalLine, as `column`. */
  originalColumn?: number;
  /** Instead of customerId and raw where the person was erased. */
  customerHash: Uint8Array | null;
  /** The row was an erased person's, and no hash of the person was kept. */
  isErased?: boolean;
};

/** Whether the row was an erased person's: nothing is left of it that a re-drive could bring. */
export function isOfErased({
  customerHash,
  isErased = false,
}: Pick<ImportError, 'customerHash' | 'isErased'>): boolean {
  return isErased || customerHash !== null;
}

/** Stages that find an error of a file, by its type; any other is found while the file is parsed. */
const STAGE_OF_FILE: Partial<Record<RunErrorType, ImportStage>> = {
  FILE_TRANSFER_ERROR: 'transfer',
  [INTERNAL_FAILURE]: 'internal',
};

/** An error of the file as a whole, which is none of its rows'. */
export function fileError(errorType: RunErrorType, message: string): ImportError {
  return {
    line: 0,
    errorType,
    outcome: 'failed',
    stage: STAGE_OF_FILE[errorType] ?? 'parsing',
    message,
    customerId: null,
    attributeKey: null,
    raw: null,
    originalLine: null,
    customerHash: null,
  };
}

/** The error of a record or value that was refused; `raw` is already cut to size. */
export function refusalError(line: number, raw: string, refusal: RefusedRow, stage?: ImportStage): ImportError {
  return {
    line,
    errorType: refusal.errorType,
    outcome: refusal.kind,
    stage: stage ?? (refusal.errorType === 'PARSING_FAILED' ? 'parsing' : 'validation'),
    message: refusal.message,
    customerId: refusal.customerId ?? null,
    attributeKey: refusal.key ?? null,
    raw,
    originalLine: null,
    customerHash: null,
  };
}

/** A longer record is shown by its beginning, as that of an import. */
const LONGEST_RAW = 1024 ** 2;
const SAMPLE = 2 * 1024;

/** The text of a record as an error shows it: storable, and of one over 1 MiB its first 2 KiB. */
export function showRaw(text: string): string {
  return shorten(text, text.length > LONGEST_RAW ? SAMPLE : LONGEST_RAW);
}

export function showJson(value: unknown): string {
  return showRaw(jsonText(value) ?? '(nested too deeply to be shown)');
}
