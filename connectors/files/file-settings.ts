import { z } from 'zod';
import { DELIMITERS } from '../../domain/core/csv-bytes.ts';
import { harmless } from '../core/contract.ts';

/** The members of a connector's settings that say how its files are read. */
export const fileSettings = {
  format: harmless(z.enum(['csv', 'jsonl'], { error: 'format must be csv or jsonl' })
    .describe('csv: RFC 4180 with a header line; jsonl: a JSON object per line. Both in UTF-8; gzip is found by itself')),
  delimiter: harmless(z.enum(DELIMITERS, { error: 'delimiter must be a comma, a semicolon, a tab or |' }).default(',')
    .describe('What stands between the fields of CSV: a comma, a semicolon, a tab or |')),
};

export type FileSettings = { format: 'csv' | 'jsonl'; delimiter: typeof DELIMITERS[number] };
