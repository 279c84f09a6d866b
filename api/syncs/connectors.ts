import { z } from 'zod';
import { operation } from '../core/operation.ts';

export const Connector = z
  .object({
    name: z.string(),
    title: z.string(),
    source: z.boolean().describe('True if a sync can read from it'),
    destination: z.boolean().describe('True if a sync can write to it'),
    alerts: z.boolean().describe('True if alerts of syncs and exporters can go to it'),
    settings: z.record(z.string(), z.unknown()).describe('JSON schema of the settings; secrets are writeOnly'),
  })
  .meta({ id: 'Connector' });
export type Connector = z.output<typeof Connector>;

export const listConnectors = operation({
  id: 'listConnectors',
  tag: 'Connections',
  right: 'sor_manage',
  method: 'GET',
  path: '/api/connectors',
  summary: 'List connectors with the schemas of their settings',
  result: z.array(Connector),
});
