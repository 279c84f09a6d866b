/** Reads the rows of an exported type from the database, ahead of the files that take them. */
import { listAppsById } from '../../store/apps/apps.ts';
import { listSorNames } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import type { ExportSession } from '../../store/exports/export-session.ts';
import type { ExportScope } from '../../store/exports/export-sources.ts';

/** Returns the scope of a run, without apps and SoRs that are gone by now. */
export async function scopeOf(db: Queryable, { entityId, definition, window }: ExportRun): Promise<ExportScope> {
  const { appIds, sorIds, format } = definition!;
  return {
    entityId,
    window,
    format,
    apps: [...(await listAppsById(db, entityId, appIds)).values()],
    sors: [...(await listSorNames(db, entityId, sorIds))].map(([id, { identifier }]) => ({ id, identifier })),
  };
}

/** Two sessions in turn: while one reads a slice, the other prepares the next one. */
export type SliceSessions = readonly [ExportSession, ExportSession];
