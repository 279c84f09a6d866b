/** Errors of rows and files: what an import shows for each row that changed nothing. */
import { jsonText } from '../attributes/json-value.ts';
import type { RefusedRow } from '../attributes/value-row.ts';
import { shorten } from '../text/text-limits.ts';
import { INTERNAL_FAILURE, type RunErrorType } from './import-error-type.ts';

/** The step that refused the row (reference: `source`). `internal`: an error in Millrace ended the import. */
export type ImportStage = 'transfer' | 'parsing' | 'validation' | 'merge' | 'internal';

export type ImportError = {
  /** Physical line of the file on which the record starts; 0 for the file as a whole. */
  line: number;
  /** Column from 1 of the cell in a table with mapped columns; missing or 0 for a whole line. */
  column?: number;
  errorType: RunErrorType;
  outcome: 'ignored' | 'failed';
  stage: ImportStage;
  message: string;
  customerId: string | null;
  attributeKey: string | null;
  /** The record as the file has it; the first 2 KiB of one over 1 MiB. */
  raw: string | null;
  /** For a row of an error file: the line of the first file that it corrects. */
  originalLine: number | null;
  originalColumn?: number;
  /** Replaces customerId and raw if the person is erased. */
  customerHash: Uint8Array | null;
  /** The row was an erased person's, without a hash of the person. */
  isErased?: boolean;
};

/** Returns whether the row was an erased person's, so that a re-drive cannot bring it. */
export function isOfErased({
  customerHash,
  isErased = false,
}: Pick<ImportError, 'customerHash' | 'isErased'>): boolean {
  return isErased || customerHash !== null;
}

const STAGE_OF_FILE: Partial<Record<RunErrorType, ImportStage>> = {
  FILE_TRANSFER_ERROR: 'transfer',
  [INTERNAL_FAILURE]: 'internal',
};

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

/** Returns the error of a refused record or value; `raw` is already cut to size. */
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

const LONGEST_RAW = 1024 ** 2;
const SAMPLE = 2 * 1024;

/** Returns a record's text for an error: storable, and the first 2 KiB of one over 1 MiB. */
export function showRaw(text: string): string {
  return shorten(text, text.length > LONGEST_RAW ? SAMPLE : LONGEST_RAW);
}

export function showJson(value: unknown): string {
  return showRaw(jsonText(value) ?? '(nested too deeply to be shown)');
}
