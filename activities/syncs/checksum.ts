import { hash } from 'node:crypto';
import type { SetRow, ValueRow } from '../../domain/attributes/value-row.ts';

/** Number of its hexadecimal digits. A text costs a quarter of a Buffer, which V8 has to track by itself. */
const DIGITS = 32;

/** Returns a checksum of attribute values; their order does not matter. */
export function checksumOfRows(rows: readonly (ValueRow | SetRow)[]): string {
  const parts = rows.map((row) =>
    JSON.stringify([row.attributeId, row.action, row.kind === 'set' ? row.elements.toSorted() : row.value]),
  );
  return checksum(parts.toSorted().join('\n'));
}

/** Returns a checksum of a record's fields; their order does not matter. */
export function checksumOfRecord(record: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(record).map((entry) => JSON.stringify(entry));
  return checksum(parts.toSorted().join('\n'));
}

function checksum(text: string): string {
  return hash('sha256', text, 'hex').slice(0, DIGITS);
}
