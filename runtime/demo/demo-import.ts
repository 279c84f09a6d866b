import type { Client } from '../../api/client.ts';
import { errorTable, outcome, readBack } from './demo-outcome.ts';
import type { DemoSor } from './demo-sor.ts';

/** Imports the sample file over HTTP, as a data engineer would, and shows the result. */
export async function demoImport(client: Client, sor: DemoSor, say: (text: string) => void): Promise<void> {
  const { import_id: id } = await client.importAttributeValues({
    body: { sor_id: sor.identifier, api_key: sor.apiKey, skip_email: true },
    file: new File([new Uint8Array(demoFile())], 'customers.csv'),
  });
  const view = () => client.viewImport({ params: { import_id: id } });
  const { state, rows } = await outcome(view, (status) => status.ended_at !== null);
  say(
    `\nImport ${id} ${state}: ${rows.read} rows read = ${rows.ok} ok + ${rows.ignored} ignored + ${rows.failed} failed\n`,
  );
  say(await errorTable(client, id));
  say(`\n${await readBack(client, sor, 'customer-3@example.com')}`);
}

const HEADER = 'user_id,attribute_key,value,action_type';
const CUSTOMERS = 300;

const PLANS = ['free', 'silver', 'gold', '"gold, ""founders"""'];
const INTERESTS = ['running', 'cycling', 'music', 'cooking', 'travel'];

/** Returns valid rows of 300 customers, then one bad row of each kind. */
function demoFile(): Buffer {
  const lines = [HEADER];
  for (let number = 0; number < CUSTOMERS; number += 1) lines.push(...soundRows(number));
  const notUtf8 = Buffer.concat([
    Buffer.from('customer-0@example.com,plan,Caf'),
    Buffer.from([0xe9]),
    Buffer.from(',\n'),
  ]);
  return Buffer.concat([Buffer.from(`${[...lines, ...badRows()].join('\n')}\n`), notUtf8]);
}

function soundRows(number: number): string[] {
  const customer = `customer-${number}@example.com`;
  const interest = (step: number) => INTERESTS[(number + step) % INTERESTS.length];
  return [
    `${customer},plan,${PLANS[number % PLANS.length]},`,
    `${customer},orders,${number * 3}.50,UPSERT`,
    `${customer},newsletter,${number % 2 === 0},`,
    `${customer},born,19${50 + (number % 50)}-0${1 + (number % 9)}-15,`,
    `${customer},last_seen,2026-01-01T0${number % 10}:30:00+01:00,`,
    `${customer},interests,${interest(0)};${interest(1)},ADD`,
    `${customer},interests,${interest(1)},REMOVE`,
  ];
}

/** Returns rows that fail, or are ignored, each for another reason. */
function badRows(): string[] {
  const customer = 'customer-0@example.com';
  const long = 'x'.repeat(257);
  const manyElements = Array.from({ length: 1001 }, (_, element) => `e${element}`).join(';');
  return [
    ',plan,gold,',
    `${customer},,gold,`,
    `${customer},${long},gold,`,
    `${customer},plan,,`,
    `${customer},orders,a dozen,`,
    `${customer},plan,${long},`,
    `${customer},interests,${manyElements},UPSERT`,
    `${customer},shoe_size,43,`,
    `${customer},legacy,1,`,
    `${customer},plan,gold,REPLACE`,
    `${customer},plan,gold`,
  ];
}
