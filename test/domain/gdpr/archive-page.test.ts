import fc from 'fast-check';
import { expect, test } from 'vitest';
import { archivePage } from '../../../domain/gdpr/archive-page.ts';
import { archiveRecord } from '../../../domain/gdpr/archive-record.ts';
import { locationWords } from '../../../domain/gdpr/personal-data-words.ts';

const HEAD = {
  request: 'gdp_1', person: 1, company: 'Acme', madeAt: '2026-11-22T10:00:00.000Z', ids: [{ kind: 'user_id', id: 'ada' }],
};

test('whatever a value is, it is shown as text: no tag, attribute or entity comes of it', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (value) => {
    const page = archivePage({ ...HEAD, company: value, ids: [{ kind: 'user_id', id: value }] },
      [{ location: 'syncs', records: [{ cursor: value, [value]: { [value]: [value] } }], total: 1 }]);
    const bare = archivePage(HEAD, [{ location: 'syncs', records: [{ cursor: 'x', y: { y: ['y'] } }], total: 1 }]);
    const tags = (text: string) => text.match(/<[a-z/][^>]*>/g);
    // A field of that name may be the same as the other, or have no name at all.
    if (value !== 'cursor' && value !== '__proto__') expect(tags(page)).toEqual(tags(bare));
  }), { numRuns: 50 });
});

test('shows columns that have something, explains them, and says how many entries there are', () => {
  const page = archivePage(HEAD, [
    {
      location: 'devices', total: 1_234,
      records: [{ device_id: 'd-1', push_token: null, first_seen_at: new Date('2026-01-02T03:04:05Z') }],
    },
    { location: 'crashes', records: [], total: 0 },
  ]);
  expect(page).toContain('<td dir="auto">2026-01-02 03:04:05 UTC</td>');
  expect(page).toContain('<dt>first_seen_at</dt><dd>When the app was first used on it (UTC)</dd>');
  expect(page).not.toContain('<dt>push_token</dt>');
  expect(page).toContain('1,234 entries in all. The first 1 are shown here');
  expect(page).toMatch(/nothing found<\/h2>\s*<ul>\s*<li>Crashes<\/li>/);
});

test('a record has apps by their names, numbers with all digits, and of nobody else an id', () => {
  const shownWith = { apps: new Map([[7, { identifier: 'app_1', name: 'Shop' }]]), ids: new Set(['ada']) };
  const device = { app_id: 7, current_user_id: 'ada', last_user_id: 'ben', push_token: null };
  const record = archiveRecord(locationWords('devices'), device, shownWith);
  expect(record).toEqual({ app_id: 'app_1', app_name: 'Shop', current_user_id: 'ada', last_user_id: 'another person', push_token: null });
  const value = archiveRecord(locationWords('attribute_values'), { number_value: '12345678901234567890.10' }, shownWith);
  expect(JSON.stringify(value)).toBe('{"number_value":12345678901234567890.10}');
});
