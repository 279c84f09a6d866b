import type { Log } from '../../activities/dependencies.ts';
import type { Config } from '../config.ts';
import type { Traces } from './traces.ts';

type TracesConfig = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_SERVICE_NAME'>;

/** Returns null without an address; then nothing of OpenTelemetry's SDK is loaded. */
export async function openTraces(config: TracesConfig, log: Pick<Log, 'warn'>): Promise<Traces | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: serviceName } = config;
  if (endpoint === undefined) return null;
  const { otlpTraces } = await import('./otlp-traces.ts');
  return otlpTraces({ endpoint, serviceName }, log);
}
