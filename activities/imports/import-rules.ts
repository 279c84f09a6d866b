import { type HeaderReading, type ImportFormat, parseHeader } from '../../domain/imports/import-file.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Files } from '../../store/core/files.ts';
import { hasErased } from '../../store/gdpr/tombstones.ts';
import type { Import, ReadableImport } from '../../store/imports/import-record.ts';
import { sorRules, type SorRules } from '../attributes/sor-rules.ts';
import { readFirstPiece } from './import-batches.ts';

/** Rules for an import's rows, and whether the entity has ever erased a person. `overtaken`: late rows of one batch. */
export type ImportRules = SorRules & RowFormat & { hasErased: boolean };
type RowFormat = ImportFormat & { overtaken?: ReadonlySet<number> };

export async function importRules(db: Queryable, { entityId, sorId }: Import, format: RowFormat): Promise<ImportRules> {
  return { ...format, ...(await sorRules(db, entityId, sorId)), hasErased: await hasErased(db, entityId) };
}

/** Returns the header of the pinned file, or why the file cannot be imported. */
export async function pinnedHeader(
  files: Files,
  { file, fileFormat, fileSettings, version, columnMapping }: ReadableImport,
): Promise<HeaderReading> {
  const { delimiter, decimal } = fileFormat;
  const { nullMarker, dates } = fileSettings;
  const first = await readFirstPiece(files.read(file.fileKey), fileFormat);
  const set = { ...(nullMarker !== undefined && { nullMarker }), ...(dates !== undefined && { dates }) };
  const syntax = { delimiter, decimal, isSheet: fileFormat.format === 'xlsx', ...set };
  return parseHeader(first, version === 3 ? 'v3' : 'v2', syntax, columnMapping);
}
