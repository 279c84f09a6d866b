import type { ImportErrorType } from './import-error-type.ts';

/** Which step refused the row (reference: `source`, the processing stage). */
export type ImportStage = 'transfer' | 'parsing' | 'validation' | 'merge';

/** What became of a row that changed nothing: one record for each, so that no row is lost. */
export type ImportError = {
  /** Physical line of the file on which the record starts; 0 for the file as a whole. */
  line: number;
  errorType: ImportErrorType;
  outcome: 'ignored' | 'failed';
  stage: ImportStage;
  message: string;
  customerId: string | null;
  attributeKey: string | null;
  /** The record as it stands in the file; of one over 1 MiB its first 2 KiB. */
  raw: string | null;
  /** Of a row of an error file: the line of the first file that it corrects. */
  originalLine: number | null;
  /** Instead of customerId and raw where the person was erased. */
  customerHash: Uint8Array | null;
};

/** An error of the file as a whole, which is none of its rows'. */
export function fileError(errorType: ImportErrorType, stage: ImportStage, message: string): ImportError {
  return {
    line: 0, errorType, outcome: 'failed', stage, message,
    customerId: null, attributeKey: null, raw: null, originalLine: null, customerHash: null,
  };
}
