import { hash } from 'node:crypto';
import type { SetRow, ValueRow } from '../../domain/attributes/value-row.ts';

const BYTES = 16;

/** Returns a checksum of attribute values; their order does not matter. */
export function checksumOfRows(rows: readonly (ValueRow | SetRow)[]): Buffer {
  const parts = rows.map((row) =>
    JSON.stringify([row.attributeId, row.action, row.kind === 'set' ? row.elements.toSorted() : row.value]),
  );
  return checksum(parts.toSorted().join('\n'));
}

/** Returns a checksum of a record's fields; their order does not matter. */
export function checksumOfRecord(record: Readonly<Record<string, unknown>>): Buffer {
  const parts = Object.entries(record).map((entry) => JSON.stringify(entry));
  return checksum(parts.toSorted().join('\n'));
}

function checksum(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, BYTES);
}
