/** Settings of the connectors that read files. */

import { z } from 'zod';
import { DELIMITERS, ENCODINGS } from '../../domain/csv/csv-bytes.ts';
import { MAX_NULL_MARKER, type TableSettings } from '../../domain/csv/table-format.ts';
import { harmless } from '../core/contract.ts';

/** Settings that say how a connector's files are read. */
export const fileSettings = {
  format: harmless(
    z
      .enum(['csv', 'jsonl'], { error: 'format must be csv or jsonl' })
      .describe(
        'csv: RFC 4180 with a header line, also as a sheet of .xlsx or zipped; jsonl: a JSON object per line, in UTF-8. ' +
          'Gzip, .xlsx and zip are found by themselves',
      ),
  ),
  delimiter: harmless(
    z
      .enum(DELIMITERS, { error: 'delimiter must be a comma, a semicolon, a tab or |' })
      .optional()
      .describe(
        'What stands between the fields of CSV: a comma, a semicolon, a tab or |; found from the header where it is not set',
      ),
  ),
  encoding: harmless(
    z
      .enum(ENCODINGS, { error: `encoding must be one of ${ENCODINGS.join(', ')}` })
      .optional()
      .describe('Of CSV without a byte order mark; UTF-8 where it is not set'),
  ),
  sheet: harmless(
    z
      .string({ error: 'sheet must be a text' })
      .min(1, 'sheet must not be empty')
      .max(31, 'sheet must have at most 31 characters')
      .optional()
      .describe('The sheet of an .xlsx file by its name; the first one where it is not set'),
  ),
  null_marker: harmless(
    z
      .string({ error: 'null_marker must be a text' })
      .min(1, 'null_marker must not be empty')
      .max(MAX_NULL_MARKER, `null_marker must have at most ${MAX_NULL_MARKER} characters`)
      .optional()
      .describe('Of CSV and .xlsx: a cell that is exactly this text is an empty one, such as \\N'),
  ),
};

export type FileSettings = { format: 'csv' | 'jsonl'; null_marker?: string | undefined } & TableSettings;
