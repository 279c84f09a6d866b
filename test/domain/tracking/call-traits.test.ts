import { expect, test } from 'vitest';
import { read } from './any-call.ts';

const traitsOf = (call: object) =>
  read({ type: 'identify', userId: 'ada', ...call }).traits.map(({ sor, key, value }) => [`${sor}.${key}`, value]);
const identified = (traits: object) => Object.fromEntries(traitsOf({ traits }));

test("Segment's names fill the global attributes, all others are the app's", () => {
  expect(
    identified({
      firstName: 'Ada',
      last_name: 'Byron',
      email: 'ada@example.com',
      birthday: '1815-12-10T00:00:00.000Z',
      gender: 'female',
      avatar: 'https://x.example/a.png',
      address: { city: 'London', country: 'UK', state: 'Middlesex', street: '12 St James' },
      plan: 'gold',
      city: 'Paris',
    }),
  ).toEqual({
    'global.first_name': 'Ada',
    'global.last_name': 'Byron',
    'global.email': 'ada@example.com',
    'global.date_of_birth': '1815-12-10',
    'global.gender': 'female',
    'global.profile_picture_url': 'https://x.example/a.png',
    'global.city': 'London',
    'global.country': 'UK',
    'global.region': 'Middlesex',
    'app.address.street': '12 St James',
    'app.plan': 'gold',
    'app.city': 'Paris',
  });
});

test.each([
  ['1815-12-10', '1815-12-10'],
  ['1815-12-10 00:00', '1815-12-10'],
  ['1815-13-10T00:00:00Z', '1815-13-10T00:00:00Z'],
  ['10/12/1815', '10/12/1815'],
  [5, 5],
  [null, null],
])('the birthday %j is %j', (birthday, expected) => {
  expect(identified({ birthday })).toEqual({ 'global.date_of_birth': expected });
});

test.each([
  [{ name: 'Ada Byron' }, { 'global.first_name': 'Ada', 'global.last_name': 'Byron' }],
  [{ name: ' Ada  King Byron ' }, { 'global.first_name': 'Ada King', 'global.last_name': 'Byron' }],
  [{ name: 'Ada' }, { 'global.first_name': 'Ada' }],
  [{ name: null }, { 'global.first_name': null, 'global.last_name': null }],
  [
    { name: 'Ada Byron', firstName: 'Ada' },
    { 'global.first_name': 'Ada', 'app.name': 'Ada Byron' },
  ],
  [{ name: 5 }, { 'app.name': 5 }],
])('the name of %j is %j', (traits, expected) => {
  expect(identified(traits)).toEqual(expected);
});

test('objects are flattened one level, arrays become Sets, null removes, and all else is left to the merge', () => {
  expect(
    identified({
      company: { name: 'Engines', size: 3, owner: { id: 1 }, tags: [] },
      tags: ['a', 1, true],
      odd: [{ a: 1 }],
      mixed: ['a', null],
      gone: null,
      empty: {},
      ['k'.repeat(300)]: 1,
      'a\0': 'b\0',
      userId: 'ada',
      anonymousId: 'x',
      constructor: 1,
    }),
  ).toEqual({
    'app.company.name': 'Engines',
    'app.company.size': 3,
    'app.company.owner': { id: 1 },
    'app.company.tags': [],
    'app.tags': ['a', '1', 'true'],
    'app.odd': [{ a: 1 }],
    'app.mixed': ['a', null],
    'app.gone': null,
    [`app.${'k'.repeat(300)}`]: 1,
    'app.a\uFFFD': 'b\uFFFD',
    'app.constructor': 1,
  });
});

test('the surroundings of a call tell of its person, but what an identify says itself goes before', () => {
  const context = { traits: { email: 'old@example.com', plan: 'gold', address: { city: 'London' } } };
  expect(traitsOf({ traits: { email: 'new@example.com', address: { state: 'X' } }, context })).toEqual([
    ['global.email', 'new@example.com'],
    ['global.region', 'X'],
    ['app.plan', 'gold'],
    ['global.city', 'London'],
  ]);
  const told = [
    ['global.email', 'old@example.com'],
    ['app.plan', 'gold'],
    ['global.city', 'London'],
  ];
  for (const type of ['track', 'page', 'screen']) {
    expect(traitsOf({ type, event: 'x', traits: { not: 'looked at' }, context })).toEqual(told);
  }
  expect(traitsOf({ type: 'alias', previousId: 'p', context })).toEqual([]);
});

test.each([3, true, 'gold', '', null, [], ['gold'], [{ plan: 'gold' }]])(
  'the surroundings tell nothing of a person as %j',
  (traits) => {
    expect(traitsOf({ type: 'track', event: 'Bought', context: { traits } })).toEqual([]);
    expect(traitsOf({ traits: { plan: 'gold' }, context: { traits } })).toEqual([['app.plan', 'gold']]);
  },
);

test('an empty text is a missing trait', () => {
  const context = { traits: { email: 'ada@example.com', 'company.size': '' } };
  expect(
    traitsOf({ traits: { email: '', name: '', plan: '', company: { name: '' }, gone: null, tags: [''] }, context }),
  ).toEqual([
    ['app.gone', null],
    ['app.tags', ['']],
    ['global.email', 'ada@example.com'],
  ]);
});

test('a group and what it is are attributes of the person', () => {
  const traits = { name: 'Engines', id: 5, address: { city: 'London' } };
  expect(traitsOf({ type: 'group', groupId: 12, traits, context: { traits: { plan: 'gold' } } })).toEqual([
    ['app.group_id', '12'],
    ['app.group_name', 'Engines'],
    ['app.group_address.city', 'London'],
    ['app.plan', 'gold'],
  ]);
});
