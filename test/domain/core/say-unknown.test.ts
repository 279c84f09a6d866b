import { expect, test } from 'vitest';
import { misspeltName } from '../../../domain/core/say-unknown.ts';

test.for([
  ['user_id', 'user_ids'], ['suer_ids', 'user_ids'], ['alias', 'aliases'], ['dryrun', 'dry_run'], ['dry-run', 'dry_run'], ['page', 'pages'],
  ['app', 'apps'],
])('%s is a misspelling of %s', ([name, meant]) => {
  expect(misspeltName(name!, ['limit', meant!, 'since_date'])).toBe(meant);
});

test.for(['_', 't', 'ts', 'cb', 'id', 'utm_source', 'token', 'users', 'format', 'x'.repeat(200), ''])(
  '%s is none of any other', (name) => {
    expect(misspeltName(name, ['sd', 'ed', 'user_ids', 'from', 'till', 'limit'])).toBeNull();
  });
