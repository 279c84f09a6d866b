import type { Batch, ConnectorContext, Reading } from '../core/contract.ts';
import type { SalesforceSettings } from './salesforce-settings.ts';

export async function* readSalesforce(
  _settings: SalesforceSettings,
  _reading: Reading,
  _context: ConnectorContext,
): AsyncGenerator<Batch> {}
