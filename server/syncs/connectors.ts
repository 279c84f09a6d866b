import { z } from 'zod';
import * as api from '../../api/syncs/connectors.ts';
import { connectors } from '../../connectors/catalog.ts';
import type { AnyConnector } from '../../connectors/core/contract.ts';
import { type Route, route } from '../http/route.ts';

const listTheConnectors = route(api.listConnectors, async () => {
  return connectors.map((connector) => ({
    name: connector.name,
    title: connector.title,
    source: connector.source !== undefined,
    destination: connector.destination !== undefined,
    alerts: connector.alerts !== undefined,
    settings: settingsSchema(connector),
  }));
});

export const connectorRoutes: Route[] = [listTheConnectors];

/** Returns the JSON schema of settings, secret members as `writeOnly`. */
function settingsSchema({ settings }: AnyConnector): Record<string, unknown> {
  const schema = z.toJSONSchema(settings, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => showMarks(jsonSchema),
  });
  delete schema.$schema;
  return schema;
}

function showMarks(schema: Record<string, unknown>): void {
  if (schema['secret'] === true) schema['writeOnly'] = true;
  delete schema['secret'];
  delete schema['harmless'];
}
