import { z } from 'zod';
import { operation } from '../core/operation.ts';

export const Connector = z.object({
  name: z.string(),
  title: z.string(),
  source: z.boolean().describe('Can be read'),
  destination: z.boolean().describe('Can be written to'),
  settings: z.record(z.string(), z.unknown()).describe('Their JSON schema; secret members are writeOnly'),
}).meta({ id: 'Connector' });
export type Connector = z.output<typeof Connector>;

export const listConnectors = operation({
  id: 'listConnectors',
  tag: 'Connections',
  right: 'sor_manage',
  method: 'GET',
  path: '/api/connectors',
  summary: 'List connectors with the settings that each takes',
  result: z.array(Connector),
});
