import type { FastifyBaseLogger } from 'fastify';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

/** One that was deleted is followed as one that is not active. */
export async function followExporterSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, exporter: DataExporter): Promise<void> {
  await leftToSweep(log, flows.followExporter(exporter), { exporter: exporter.identifier }, 'the schedule of an exporter');
}
