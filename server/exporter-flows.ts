import type { FastifyBaseLogger } from 'fastify';
import { faultOf } from '../domain/fault.ts';
import type { DataExporter } from '../store/data-exporter-record.ts';
import type { RunRef } from '../store/sync-runs.ts';
import type { RouteNeeds } from './needs.ts';

/** As sync-flows.ts: what follows from a request once it is written down. */

export async function startExportSoon({ flows }: RouteNeeds, log: FastifyBaseLogger, ref: RunRef): Promise<void> {
  await flows.startExportRun(ref)
    .catch((error: unknown) => log.warn({ exportRun: ref.identifier, ...faultOf(error) }, 'a run of an exporter is left to the sweep'));
}

/** One that was deleted is followed as one that is not active. */
export async function followExporterSoon({ flows }: RouteNeeds, log: FastifyBaseLogger, exporter: DataExporter): Promise<void> {
  const { identifier } = exporter;
  await flows.followExporter(exporter).catch((error: unknown) =>
    log.warn({ exporter: identifier, ...faultOf(error) }, 'the schedule of an exporter is left to the sweep'));
}
