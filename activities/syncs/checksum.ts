import { hash } from 'node:crypto';
import type { SetRow, ValueRow } from '../../domain/attributes/value-row.ts';

const BYTES = 16;

/** The same for the same values of the same attributes, in whatever order they come. */
export function checksumOfRows(rows: readonly (ValueRow | SetRow)[]): Buffer {
  const parts = rows.map((row) =>
    JSON.stringify([row.attributeId, row.action, row.kind === 'set' ? row.elements.toSorted() : row.value]),
  );
  return checksum(parts.toSorted().join('\n'));
}

/** The same for the same fields, in whatever order they come. */
export function checksumOfRecord(record: Readonly<Record<string, unknown>>): Buffer {
  const parts = Object.entries(record).map((entry) => JSON.stringify(entry));
  return checksum(parts.toSorted().join('\n'));
}

function checksum(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, BYTES);
}
