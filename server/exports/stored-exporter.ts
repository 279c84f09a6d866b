import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { DataExporter, ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { type lockExporter, openExporterSecrets } from '../../store/exports/data-exporters.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { knownExporter } from './exporter-record.ts';

export type StoredExporter = DataExporter & { secrets: ExporterSecrets };

/** Returns the caller's exporter with its secrets, locked if `find` is `lockExporter`. */
export async function storedExporter(
  db: Queryable,
  { secrets }: Pick<RouteDependencies, 'secrets'>,
  entityId: number,
  identifier: string,
  find?: typeof lockExporter,
): Promise<StoredExporter> {
  const exporter = await knownExporter(db, entityId, identifier, find);
  return { ...exporter, secrets: await openExporterSecrets(db, secrets, entityId, exporter.id) };
}

/** Refuses if the exporter has changed since the settings were tried in the bucket. */
export function refuseChangedMeanwhile({ revision }: DataExporter, tried: number): void {
  if (revision !== tried)
    refuse(409, 'conflict', 'The data exporter was changed while its bucket was tried: try again');
}
