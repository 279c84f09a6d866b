import { parseArgs } from 'node:util';
import { certificate } from '../core/http-source.ts';
import { salesforceServer } from './salesforce-server.ts';

/**
 * Salesforce in a process of its own, for the walk of the docs and the benchmark: prints where it is and what its app
 * signs in with, and ends with its standard input.
 */
const { values } = parseArgs({
  options: {
    contacts: { type: 'string', default: '3' },
    // Contacts that are made as they are read, instead of kept.
    generated: { type: 'string', default: '0' },
    'delay-ms': { type: 'string', default: '0' },
    tls: { type: 'boolean', default: false },
  },
});
const tls = values.tls ? await certificate() : undefined;
const limits = { perDay: 10_000_000 };
const server = await salesforceServer({ ...(tls ? { tls } : {}), delayMs: Number(values['delay-ms']), limits });
const contact = (n: number) => ({
  LastName: `Customer ${n}`,
  Email: `customer-${String(n).padStart(7, '0')}@example.com`,
  Title: `title ${n % 1_013}`,
  Score__c: n % 1_000,
});
const yesterday = Date.now() - 86_400_000;
server.field('Contact', { name: 'Score__c', type: 'double', precision: 18, scale: 0 });
server.field('Contact', { name: 'Customer_Id__c', type: 'string', externalId: true, unique: true });
server.putMany(
  'Contact',
  Array.from({ length: Number(values.contacts) }, (_, n) => contact(n)),
  yesterday,
);
if (Number(values.generated) > 0) server.generate('Contact', Number(values.generated), contact, yesterday);
const { clientId, clientSecret } = server.app;
process.stdout.write(`${JSON.stringify({ url: server.url, clientId, clientSecret, cert: tls?.cert })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
