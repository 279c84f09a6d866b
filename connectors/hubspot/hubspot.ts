/** Connector that reads from and writes to HubSpot: contacts, companies, custom objects and contacts' companies. */
import { connector, type ConnectorContext } from '../core/contract.ts';
import { checkRotation, Hubspot } from './hubspot-api.ts';
import { checkScopes, listStreams } from './hubspot-objects.ts';
import { hubspotSettings, type HubspotSettings } from './hubspot-settings.ts';
import { readHubspot } from './read-hubspot.ts';
import { writeHubspot } from './write-hubspot.ts';

const checkFor =
  (isWriting: boolean) =>
  async (settings: HubspotSettings, context: ConnectorContext): Promise<void> => {
    await checkRotation(settings, context);
    await checkScopes(new Hubspot(settings, context), isWriting);
  };

export const hubspot = connector({
  name: 'hubspot',
  title: 'HubSpot',
  settings: hubspotSettings,
  source: {
    reportsDeletions: true,
    check: checkFor(false),
    discover: (settings, context) => listStreams(new Hubspot(settings, context), context),
    read: readHubspot,
  },
  destination: {
    check: checkFor(true),
    discover: (settings, context) => listStreams(new Hubspot(settings, context), context, true),
    write: writeHubspot,
  },
});
