import fc from 'fast-check';
import { expect, test } from 'vitest';
import { archivePage } from '../../../domain/gdpr/archive-page.ts';
import { archiveRecord } from '../../../domain/gdpr/archive-record.ts';
import { locationWords } from '../../../domain/gdpr/personal-data-words.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const HEAD = {
  request: 'gdp_1',
  person: 1,
  company: 'Acme',
  madeAt: '2026-11-22T10:00:00.000Z',
  ids: [{ kind: 'user_id', id: 'ada' }],
  fileRecipients: [],
};

test('whatever a value is, it is shown as text: no tag, attribute or entity comes of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const pageOf = (text: string, one: Record<string, unknown>) =>
        archivePage(
          {
            ...HEAD,
            company: text,
            ids: [{ kind: 'user_id', id: text }],
            fileRecipients: [{ name: text, types: [text], last_run_at: null }],
          },
          [
            { location: 'syncs', records: [one], total: 1 },
            { location: 'attribute_values', records: [attribute({ key: text, string_value: text })], total: 1 },
          ],
        );
      const tags = (page: string) => page.match(/<[a-z/][^>]*>/g);
      // A field of that name may be the same as the other, or have no name at all.
      if (value === 'cursor' || value === '__proto__') return;
      const page = pageOf(value, { cursor: value, [value]: { [value]: [value] } });
      expect(tags(page)).toEqual(tags(pageOf('x', { cursor: 'x', y: { y: ['y'] } })));
    }),
    { numRuns: sampledRuns(50) },
  );
});

function attribute(more: object): Record<string, unknown> {
  return {
    system_of_record: 'sor_1',
    system_of_record_name: 'CRM',
    key: 'plan',
    value_type: 'String',
    customer_id: 'ada',
    string_value: null,
    number_value: null,
    boolean_value: null,
    date_value: null,
    set_elements: null,
    changed_at: new Date('2026-03-03T14:05:00Z'),
    removed_at: null,
    ...more,
  };
}

/** The text between tags; emphasis as in the words. */
function textOf(page: string): string {
  return page
    .replaceAll(/<style>[^]*<\/style>/g, '')
    .replaceAll(/<\/?em>/g, '*')
    .replaceAll(/<\/?(?:bdi|code|a)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, '\n')
    .replaceAll(/\n+/g, '\n');
}

test('says in words what is stored, by what it tells: whatever the type, an attribute has one value', () => {
  const number = { number_value: '12345678901234567890.10' };
  const noIds = { user_id: new Set<string>(), device_id: new Set<string>() };
  const { shown: big } = archiveRecord(locationWords('attribute_values'), number, { apps: new Map(), ids: noIds });
  const values = [
    { string_value: 'gold' },
    { string_value: '' },
    big,
    { boolean_value: true },
    { date_value: '2026-01-31' },
    { datetime_value: new Date('2026-01-31T23:30:00Z') },
    { set_elements: ['a', 'b'] },
    { removed_at: new Date('2026-03-04T00:00:00Z') },
  ];
  const fileRecipients = [{ name: 'To S3', types: ['events'], last_run_at: '2026-11-21T03:00:00.000Z' }];
  const text = textOf(
    archivePage({ ...HEAD, fileRecipients }, [
      { location: 'attribute_values', records: values.map(attribute), total: values.length },
      {
        location: 'events',
        total: 1,
        records: [
          {
            happened_at: new Date('2026-11-05T10:00:30Z'),
            app_id: 'app_1',
            app_name: 'Shop',
            log_type: 2,
            name: 'Bought',
            detail: { price: 3, of: { shoes: ['red', null, 'blue'] } },
            user_id: 'ada',
          },
        ],
      },
      { location: 'crashes', records: [], total: 0 },
      { location: 'import_errors', records: [{ within: 'imp_1', matches: 2 }], total: 1 },
    ]),
  );
  for (const value of [
    'gold',
    '(empty)',
    '12345678901234567890.10',
    'yes',
    '31 January 2026',
    '31 January 2026, 23:30',
    'a, b',
  ]) {
    expect(text).toContain(`Attribute *plan* in *CRM*: ${value}, since 3 March 2026\n`);
  }
  expect(text).toContain('Attribute *plan* in *CRM*: removed on 4 March 2026\n');
  const detail = 'What the app said about it\nprice: 3\nof: \nshoes: red, , blue';
  expect(text).toContain(`5 November 2026, 10:00: event *Bought* in Shop\n${detail}`);
  expect(text).toContain('One of your ids stands in 2 of them, within imp_1.');
  expect(text).toContain('*To S3*: files of events, last on 21 November 2026\n');
  const headings = [
    'Who you are',
    'What you did',
    'What we sent you\nNo message to you is stored.',
    'Who received it',
    'Where it came from',
    'Your requests, and who looked\nNothing is stored about requests like this one.',
    'Looked for, and nothing found\nCrashes',
  ];
  const places = headings.map((heading) => text.lastIndexOf(`\n${heading}\n`));
  expect(places).toEqual(places.filter((at) => at >= 0).toSorted((a, b) => a - b));
  expect(text).not.toMatch(/app_1|sor_1|_at\b|null|undefined/);
});

test('of many entries it shows the first, and says how many there are; a long text is cut', () => {
  const page = archivePage(HEAD, [
    {
      location: 'devices',
      total: 1_234,
      records: [{ device_id: 'd-1', push_token: 'x'.repeat(3_000), first_seen_at: new Date(0) }],
    },
  ]);
  expect(page).toContain('1,234 entries in all. The first 1 are shown here');
  expect(page).toContain(`<dt>First used</dt><dd dir="auto">1 January 1970</dd>`);
  expect(page).toContain('x… (3,000 characters; all of them are in data.json)');
});

test('a record has apps by their names, numbers with all digits, and of nobody else an id', () => {
  const ids = { user_id: new Set(['ada']), device_id: new Set<string>() };
  const shownWith = { apps: new Map([[7, { identifier: 'app_1', name: 'Shop' }]]), ids };
  const device = { app_id: 7, current_user_id: 'ada', last_user_id: 'ben', push_token: null };
  const { shown: record } = archiveRecord(locationWords('devices'), device, shownWith);
  expect(record).toEqual({
    app_id: 'app_1',
    app_name: 'Shop',
    current_user_id: 'ada',
    last_user_id: 'another person',
    push_token: null,
  });
  const { shown: value } = archiveRecord(
    locationWords('attribute_values'),
    { number_value: '12345678901234567890.10' },
    shownWith,
  );
  expect(JSON.stringify(value)).toBe('{"number_value":12345678901234567890.10}');
});
