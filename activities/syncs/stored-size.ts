import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { storedBytes } from '../../domain/json/json-size.ts';

/** Maximum bytes of each document that a sync keeps of its source: cursor, fields, change of fields. */
export const MAX_SOURCE_DOCUMENT_BYTES = 1024 ** 2;

/** Returns a document to be stored, as the source gave it. Refuses one that is too large. */
export function storable<T>(document: T, what: 'cursor' | 'list of fields' | 'change of fields'): T {
  if (storedBytes(document, MAX_SOURCE_DOCUMENT_BYTES) <= MAX_SOURCE_DOCUMENT_BYTES) return document;
  throw sourceRefusal(
    'source_refused',
    `The ${what} of the source has more than ${MAX_SOURCE_DOCUMENT_BYTES / 1024} KiB as JSON, ` +
      'which is the most that a sync keeps: read a stream with fewer fields or parts',
  );
}
