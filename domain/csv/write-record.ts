import type { Delimiter } from './csv-bytes.ts';

/** Writes fields as a record that `parseRecord` reads, without a line end. */
export function writeRecord(fields: readonly string[], delimiter: Delimiter): string {
  return fields
    .map((field) => {
      const isPlain = field !== '' && !field.includes(delimiter) && !/["\r\n]/.test(field);
      return isPlain ? field : `"${field.replaceAll('"', '""')}"`;
    })
    .join(delimiter);
}
