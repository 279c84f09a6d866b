import { readFirstPiece } from './import-batches.ts';
import type { Rules } from '../domain/import-batch.ts';
import { type HeaderReading, type ImportFormat, parseHeader } from '../domain/import-file.ts';
import { listCustomerAttributesOf } from '../store/customer-attributes.ts';
import type { Queryable } from '../store/database.ts';
import type { Files } from '../store/files.ts';
import type { Import, PinnedImport } from '../store/import-record.ts';
import { findSorById } from '../store/systems-of-records.ts';
import { hasErased } from '../store/tombstones.ts';

/** The rules of an import's rows, the revision of the SoR that they come from, and whether the entity ever erased anyone. */
export type ImportRules = Rules & { revision: number; hasErased: boolean };

/** Reads what decides about a row: the SoR's state and its attributes. */
export async function importRules(db: Queryable, { entityId, sorId }: Import, format: ImportFormat): Promise<ImportRules> {
  const sor = await findSorById(db, entityId, sorId);
  const attributes = await listCustomerAttributesOf(db, entityId, [sorId]);
  return {
    ...format,
    attributes: new Map(attributes.map((attribute) => [attribute.key, attribute])),
    sorDisabled: sor?.disabled ?? false,
    sorDeleted: sor === null,
    revision: sor?.revision ?? DELETED,
    hasErased: await hasErased(db, entityId),
  };
}

/** No revision of a SoR that is there: rows checked against a deleted one are checked again each time. */
const DELETED = -1;

/** The header of the pinned file, or why the file can't be imported. */
export async function pinnedHeader(files: Files, { file: { fileKey, fileBytes }, version }: PinnedImport): Promise<HeaderReading> {
  if (await files.size(fileKey) !== fileBytes) {
    return { ok: false, errorType: 'FILE_TRANSFER_ERROR', message: 'the stored copy of the file is gone or damaged: import it again' };
  }
  return parseHeader(await readFirstPiece(files.read(fileKey)), version === 3 ? 'v3' : 'v2');
}
