/** Connector that reads from and writes to Salesforce: the objects that its user may see. */
import { connector, type ConnectorContext } from '../core/contract.ts';
import { Salesforce } from './salesforce-api.ts';
import { checkAccess, listStreams } from './salesforce-objects.ts';
import { salesforceSettings, type SalesforceSettings } from './salesforce-settings.ts';
import { readSalesforce, releaseSalesforce } from './read-salesforce.ts';
import { writeSalesforce } from './write-salesforce.ts';

const check = (settings: SalesforceSettings, context: ConnectorContext) =>
  checkAccess(new Salesforce(settings, context));
const discover = (settings: SalesforceSettings, context: ConnectorContext, only?: string) =>
  listStreams(new Salesforce(settings, context), context.signal, { only });

export const salesforce = connector({
  name: 'salesforce',
  title: 'Salesforce',
  settings: salesforceSettings,
  source: { reportsDeletions: true, check, discover, read: readSalesforce, release: releaseSalesforce },
  destination: {
    check,
    discover: (settings, context, only) =>
      listStreams(new Salesforce(settings, context), context.signal, { only, isWriting: true }),
    write: writeSalesforce,
  },
});
