import { expect, test } from 'vitest';
import { misspeltName, nearestName, sayUnknown } from '../../../domain/text/say-unknown.ts';

test.for([
  ['user_id', 'user_ids'],
  ['suer_ids', 'user_ids'],
  ['alias', 'aliases'],
  ['dryrun', 'dry_run'],
  ['dry-run', 'dry_run'],
  ['page', 'pages'],
  ['app', 'apps'],
])('%s is a misspelling of %s', ([name, meant]) => {
  expect(misspeltName(name!, ['limit', meant!, 'since_date'])).toBe(meant);
});

test.for(['_', 't', 'ts', 'cb', 'id', 'utm_source', 'token', 'users', 'format', 'x'.repeat(200), ''])(
  '%s is none of any other',
  (name) => {
    expect(misspeltName(name, ['sd', 'ed', 'user_ids', 'from', 'till', 'limit'])).toBeNull();
  },
);

test('a name is compared with a bounded number of short names alone', () => {
  const long = Array.from({ length: 10_000 }, (_, n) => `${'x'.repeat(64)}${n}`);
  expect(nearestName('Ordr', [...long.slice(0, 499), 'Order'])).toBe('Order');
  expect(nearestName('Ordr', [...long, 'Order'])).toBeNull();
  expect(nearestName('x'.repeat(65), ['x'.repeat(64)])).toBeNull();
  expect(sayUnknown('Ordr', long)).toMatch(/^is unknown\. There are .* and 9900 more$/);
});
