import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import type { ScalarType } from '../domain/attributes/attribute-value.ts';

/** The attributes of the benchmark's SoR: ten of them, so that 1M rows are 100,000 customers. */
export const ATTRIBUTES: [key: string, type: ScalarType][] = [
  ['first_name', 'String'],
  ['last_name', 'String'],
  ['city', 'String'],
  ['plan', 'String'],
  ['referrer', 'String'],
  ['orders', 'Number'],
  ['revenue', 'Number'],
  ['newsletter', 'Boolean'],
  ['born', 'Date'],
  ['last_seen', 'Datetime'],
];

/** `shuffled`: no row is near another one of its customer; `by customer`: each customer's rows follow each other. */
export const ORDERS = ['shuffled', 'by customer'] as const;
export type Order = (typeof ORDERS)[number];

/** `bad`: every `BAD_EVERY`-th row fails, is left out, or is a good row. */
export type FileSettings = {
  path: string;
  rows: number;
  order: Order;
  bad: 'kept' | 'left out' | 'none';
  salt: number;
};

const BAD_EVERY = 100;

/**
 * A v2 file in which each customer has each attribute once; 1 % of the rows are bad ones. In either order customers
 * come as they would by a hash. Another `salt` gives other values of the same keys.
 */
export async function writeImportFile({ path, rows, order, bad, salt }: FileSettings): Promise<void> {
  const out = createWriteStream(path);
  out.write('user_id,attribute_key,value\n');
  let lines: string[] = [];
  for (let row = 0; row < rows; row += 1) {
    const isBad = bad !== 'none' && row % BAD_EVERY === BAD_EVERY - 1;
    if (!isBad) lines.push(goodLine(placeIn(order, row, rows), salt));
    else if (bad === 'kept') lines.push(badLine(row));
    if (lines.length < 10_000) continue;
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain');
    lines = [];
  }
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
  out.end();
  await once(out, 'close');
}

/** Returns the number of good rows of such a file. */
export function goodRows(rows: number): number {
  return rows - Math.floor(rows / BAD_EVERY);
}

/** Returns the place of a row's attribute: customer by customer, `ATTRIBUTES.length` each. */
function placeIn(order: Order, row: number, rows: number): number {
  const perCustomer = ATTRIBUTES.length;
  if (order === 'shuffled') return shuffled(row, rows);
  return shuffled(Math.floor(row / perCustomer), rows / perCustomer) * perCustomer + (row % perCustomer);
}

/** A permutation: 387,420,489 = 3^18 has no factor in common with a power of ten. */
function shuffled(row: number, rows: number): number {
  return Number((BigInt(row) * 387_420_489n) % BigInt(rows));
}

function goodLine(index: number, salt: number): string {
  const [key, type] = ATTRIBUTES[index % ATTRIBUTES.length]!;
  const customer = Math.floor(index / ATTRIBUTES.length);
  return `customer-${String(customer).padStart(7, '0')},${key},${sampleValue(type, customer + salt)}`;
}

function badLine(row: number): string {
  return row % 2 === 0 ? `customer-${row},revenue,not a number` : `customer-${row},born,2001-02-30`;
}

/** As a CSV field shows it. */
export function sampleValue(type: ScalarType, seed: number): string {
  switch (type) {
    case 'String':
      return `value ${(seed * 7_919) % 100_003}`;
    case 'Number':
      return (((seed * 31) % 100_000) / 100).toFixed(2);
    case 'Boolean':
      return String(seed % 2 === 0);
    case 'Date':
      return `${1950 + (seed % 60)}-0${1 + (seed % 9)}-${10 + (seed % 18)}`;
    case 'Datetime':
      return new Date(1_700_000_000_000 + (seed % 10_000_000) * 1000).toISOString();
  }
}
