import { z } from 'zod';
import { connectors } from '../../connectors/catalog.ts';
import { type Route, route } from '../http/route.ts';
import { settingsSchema } from './connection-settings.ts';

const ConnectorRecord = z.object({
  name: z.string(),
  title: z.string(),
  source: z.boolean().describe('Can be read'),
  destination: z.boolean().describe('Can be written to'),
  settings: z.record(z.string(), z.unknown()).describe('Their JSON schema; secret members are writeOnly'),
});

const listTheConnectors = route({
  tag: 'Connections',
  right: 'sor_manage',
  method: 'GET',
  path: '/api/connectors',
  summary: 'List connectors with the settings that each takes',
  result: z.array(ConnectorRecord),
  async handle() {
    return connectors.map((connector) => ({
      name: connector.name, title: connector.title, source: connector.source !== undefined,
      destination: connector.destination !== undefined, settings: settingsSchema(connector),
    }));
  },
});

export const connectorRoutes: Route[] = [listTheConnectors];
