import * as api from '../../api/syncs/connectors.ts';
import { connectors } from '../../connectors/catalog.ts';
import { type Route, route } from '../http/route.ts';
import { settingsSchema } from './connection-settings.ts';

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
