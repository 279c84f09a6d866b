/** Finds the fields of a file. */
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Field, Json, SourceRecord } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { FileBytes } from './file-bytes.ts';
import { filePortions } from './file-portions.ts';
import type { FileSettings } from './file-settings.ts';

const SAMPLE_RECORDS = 1_000;
const SAMPLE_BYTES = 16 * 1024 * 1024;
const MAX_FIELDS = 1_000;

/**
 * Returns the fields of an open file: the names in a CSV header, or the members of the first 1,000 records (at most 16
 * MiB) of JSON Lines, up to 1,000 fields. A later record may lack any of them, so all are nullable. Ends the file.
 */
export async function fieldsOf(settings: FileSettings, file: FileBytes): Promise<Field[]> {
  try {
    return settings.format === 'csv' ? await headerFields(settings, file) : await sampleFields(settings, file);
  } finally {
    await file.end();
  }
}

async function headerFields(settings: FileSettings, file: FileBytes): Promise<Field[]> {
  for await (const { cursorAfter } of filePortions(settings, file, null)) {
    const { columns } = cursorAfter(-1);
    if (columns !== null) return columns.map((name) => ({ name, type: 'string', nullable: true }));
  }
  throw sourceRefusal('source_refused', 'The file is empty: CSV needs a header line');
}

async function sampleFields(settings: FileSettings, file: FileBytes): Promise<Field[]> {
  const types = new Map<string, FieldType | null>();
  let records = 0;
  let bytes = 0;
  for await (const { items } of filePortions(settings, file, null)) {
    for (const found of items) {
      bytes += found.bytes;
      if (found.item.kind !== 'record') continue;
      addTypes(types, found.item.record);
      records += 1;
      if (records === SAMPLE_RECORDS) break;
    }
    if (records === SAMPLE_RECORDS || bytes >= SAMPLE_BYTES) break;
  }
  return [...types].map(([name, type]) => ({ name, type: type ?? 'string', nullable: true }));
}

function addTypes(types: Map<string, FieldType | null>, record: SourceRecord): void {
  for (const [name, value] of Object.entries(record)) {
    const known = types.get(name);
    if (known === undefined && types.size === MAX_FIELDS) continue;
    types.set(name, joined(known ?? null, typeOf(value)));
  }
}

/** Returns the type that holds both; null stands for the type of null. */
function joined(a: FieldType | null, b: FieldType | null): FieldType | null {
  if (a === null || b === null || a === b) return a ?? b;
  const areNumbers = [a, b].every((type) => type === 'integer' || type === 'number');
  return areNumbers ? 'number' : 'string';
}

function typeOf(value: Json): FieldType | null {
  if (value === null) return null;
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : 'object';
}
