import { certificate } from '../core/http-source.ts';
import { hubspotServer } from './hubspot-server.ts';

/**
 * HubSpot in a process of its own, for the benchmark, with so many contacts: prints where it is, and ends with its
 * standard input.
 */
const [count = '0', delayMs = '0'] = process.argv.slice(2);
const tls = await certificate();
const limits = { perTenSeconds: 1e9, perDay: 1e9, searchPerSecond: 1e9 };
const server = await hubspotServer({ tls, delayMs: Number(delayMs), limits });
server.property('contacts', { name: 'plan', type: 'string' });
server.property('contacts', { name: 'score', type: 'number' });
server.property('companies', { name: 'bench_no', type: 'number', hasUniqueValue: true });
server.property('companies', { name: 'plan', type: 'string' });
server.putMany(
  'contacts',
  Array.from({ length: Number(count) }, (_, n) => ({
    email: `customer-${String(n).padStart(7, '0')}@example.com`,
    plan: `plan ${n % 1_013}`,
    score: String(n % 1_000),
  })),
  Date.now() - 86_400_000,
);
process.stdout.write(`${JSON.stringify({ url: server.url, key: server.key, cert: tls.cert })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
