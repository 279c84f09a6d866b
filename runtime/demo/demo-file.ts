import type { ValueType } from '../../domain/attributes/attribute-value.ts';

const HEADER = 'user_id,attribute_key,value,action_type';
const CUSTOMERS = 300;

/** The attributes of the demo's System of Record; `legacy` is disabled. */
export const DEMO_ATTRIBUTES: [key: string, type: ValueType][] = [
  ['plan', 'String'],
  ['orders', 'Number'],
  ['newsletter', 'Boolean'],
  ['born', 'Date'],
  ['last_seen', 'Datetime'],
  ['interests', 'Set'],
  ['legacy', 'String'],
];

const PLANS = ['free', 'silver', 'gold', '"gold, ""founders"""'];
const INTERESTS = ['running', 'cycling', 'music', 'cooking', 'travel'];

/** Sound rows of 300 customers, then one bad row of each kind that a file can hold. */
export function demoFile(): Buffer {
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

/** Each of them fails, or is ignored, for another reason. */
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
