import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SegmentFiltersInput } from '../../../api/analytics/segment-filters.ts';
import { createFunnel } from '../../../api/analytics/funnels.ts';
import { type SegmentFilters, showFilters } from '../../../domain/analytics/segment-filters.ts';
import { findErasureFailure, listKeptValues } from '../../../store/analytics/filters-of-people.ts';
import { findFunnel } from '../../../store/analytics/funnels.ts';
import { resolveFilters } from '../../../store/analytics/resolve-filters.ts';
import { findSegment } from '../../../store/analytics/segments.ts';
import { updateCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { insertCampaignRun } from '../../../store/campaigns/campaign-runs.ts';
import { write } from '../../../store/core/database.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { insertSampleSegment } from '../../harness/analytics/sample-segments.ts';
import { insertSampleFunnel } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';

const ANA = personId(91);
let store: TestStore;
let world: World;
let app: { id: number; identifier: string };

beforeAll(async () => {
  store = await testStore();
});

beforeEach(async () => {
  world = await makeWorld(store);
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.filters');
});

const user = (customerId: string): Person => ({ customerType: 'user_id', customerId });

/** Erases people from the filters, and looks for survivors. */
async function erase(...people: Person[]): Promise<void> {
  for (const name of ['funnels', 'segments', 'campaigns']) {
    const location = personalData.find((one) => one.name === name)!;
    await location.erase!(store, world.entity.id, people);
    expect(await location.count(store, world.entity.id, people)).toBe(0);
  }
}

type Filter = SegmentFilters['blocks'][number]['filters'][number];
const all = (...filters: object[]): SegmentFilters => ({
  operator: 'and',
  blocks: [{ operator: 'and', filters: filters as Filter[] }],
});
const attribute = (key: string, operator: string, ...values: string[]) => ({
  filter_on: 'attributes',
  sor_identifier: world.sor.identifier,
  attribute_key: key,
  operator,
  values,
});
const event = (details: object[], operator = 'at_least', count = 1) => ({
  filter_on: 'events',
  app_id: app.identifier,
  log_type: 2,
  log_name: 'Ordered',
  match_details: details,
  operator,
  count,
  period: { last_days: 7 },
});
const inSegment = (identifier: string, operator = 'is_in', selection = 'any_of') => ({
  filter_on: 'segments',
  selection,
  segment_identifiers: [identifier],
  operator,
});
const inFunnel = (identifier: string, operator = 'is_in') => ({
  filter_on: 'funnels',
  funnel_identifier: identifier,
  step: 0,
  outcome: 'completed',
  operator,
  period: { last_days: 7 },
});

const segment = (name: string, filters: SegmentFilters, ...uses: number[]) =>
  insertSampleSegment(store.db, world, app.id, { name, filters, uses });
const insertCampaign = (filters: SegmentFilters, status = 'ongoing') =>
  insertSampleCampaign(store.db, world.entity.id, app.id, { type: 'classic', status, filters });
const failureOf = async (identifier: string) => (await findSegment(store.db, world.entity.id, identifier))!.failure;
const filtersOf = async (identifier: string) => (await findSegment(store.db, world.entity.id, identifier))!.filters!;
const campaignOf = async (id: number) =>
  (
    await store.db.query<{ status: string; failure: string | null }>(
      'SELECT status, failure FROM campaigns WHERE id = $1',
      [id],
    )
  ).rows[0]!;

it('a short id stays as a value that may mean anything, and is listed with what holds it', async () => {
  const filters = all(
    attribute('plan', 'is_not', '25', 'FR'),
    attribute('score', 'is', '25'),
    attribute('score', 'at_least', '25'),
    { filter_on: 'devices', field: 'country_code', operator: 'is', values: ['FR'] },
    event([{ seats: 25, plan: 'x' }], 'at_most'),
  );
  const { identifier } = await segment('Short', filters);
  const campaign = await insertCampaign(all(attribute('plan', 'is', 'FR')));
  const funnel = await insertSampleFunnel(store.db, world, app, [{ country: 'FR' }]);
  const people = [user('25'), user('FR')];
  const kept = await listKeptValues(store.db, world.entity.id, people);
  await erase(...people);
  expect([await filtersOf(identifier), await failureOf(identifier)]).toEqual([filters, null]);
  expect(await campaignOf(campaign.id)).toMatchObject({ status: 'ongoing', failure: null });
  expect(kept).toEqual([
    { place: 'segments', object: identifier, on: 'attributes', key: 'plan', values: 2 },
    { place: 'segments', object: identifier, on: 'attributes', key: 'score', values: 1 },
    { place: 'segments', object: identifier, on: 'devices', key: 'country_code', values: 1 },
    { place: 'segments', object: identifier, on: 'details', key: 'seats', values: 1 },
    { place: 'campaigns', object: campaign.identifier, on: 'attributes', key: 'plan', values: 1 },
    { place: 'funnels', object: funnel.identifier, on: 'details', key: 'country', values: 1 },
  ]);
});

it('a value of an identifier goes, and a distinctive one from each attribute and detail; what stays can be sent back', async () => {
  await updateCustomerAttribute(store.db, world.entity.id, world.attributes.score!.id, { isIdentifier: true });
  const filters = all(
    attribute('score', 'is', '25'),
    attribute('score', 'is', '25', '26'),
    attribute('plan', 'contains', ANA),
    attribute('tags', 'contains_all', 'vip', ANA),
    attribute('plan', 'is', `to ${ANA}`),
    event([{ seller: ANA, price: 1 }, { price: 2 }]),
    event([{ user_id: '25' }]),
  );
  const { identifier } = await segment('Named', filters);
  const funnel = await insertSampleFunnel(store.db, world, app, [{ userId: 25 }]);
  await erase(user('25'), user(ANA));
  const left = await filtersOf(identifier);
  expect(left).toEqual(
    all(
      { ...attribute('score', 'is'), values_erased: 1 },
      { ...attribute('score', 'is', '26'), values_erased: 1 },
      { ...attribute('plan', 'contains'), values_erased: 1 },
      { ...attribute('tags', 'contains_all', 'vip'), values_erased: 1 },
      attribute('plan', 'is', `to ${ANA}`),
      { ...event([{ price: 2 }]), values_erased: 1 },
      { ...event([]), values_erased: 1 },
    ),
  );
  expect(await listKeptValues(store.db, world.entity.id, [user(ANA)])).toEqual([
    { place: 'segments', object: identifier, on: 'attributes', key: 'plan', values: 1 },
  ]);
  expect(SegmentFiltersInput.parse(showFilters(left))).toEqual(left);
  const steps = (await findFunnel(store.db, world.entity.id, funnel.identifier))!.steps;
  expect(steps).toMatchObject([{ match_details: [], values_erased: 1 }]);
  expect(createFunnel.body!.parse({ name: 'Again', steps })).toMatchObject({ steps });
  await insertEventDefinitions(store.db, world.entity.id, app.id, [{ logType: 2, name: 'Ordered' }]);
  const { errors, failure, query } = await resolveFilters(store.db, world.entity.id, {
    appId: app.id,
    filters: left,
    now: new Date(),
  });
  expect([errors, failure]).toEqual([[], null]);
  const compared = query!.filters.blocks[0]!.filters.map((filter) =>
    'comparison' in filter ? filter.comparison.values : 'details' in filter ? filter.details : filter,
  );
  expect(compared).toEqual([[], ['26'], [], [], [`to ${ANA}`], [{ price: 2 }], null]);
});

describe('what would find more people', () => {
  it.each([
    ['is_not', () => attribute('plan', 'is_not', 'gold', ANA)],
    ['does_not_contain', () => attribute('plan', 'does_not_contain', ANA)],
    ['contains_none', () => attribute('tags', 'contains_none', ANA)],
    ['at_most', () => event([{ seller: ANA }], 'at_most')],
    ['exactly', () => event([{ seller: ANA }, {}], 'exactly', 2)],
  ])('is a segment with %s: it fails with the reason', async (_, filter) => {
    const { identifier } = await segment('Others', all(attribute('plan', 'is', 'gold'), filter()));
    await erase(user(ANA));
    const failure = 'filters.blocks.0.filters.1: an erasure removed a value by which it leaves people out';
    expect(await failureOf(identifier)).toContain(failure);
    const left = await filtersOf(identifier);
    expect(SegmentFiltersInput.parse(showFilters(left))).toEqual(left);
    expect(await findErasureFailure(store.db, world.entity.id, left)).toBe(await failureOf(identifier));
  });

  it('is also what leaves people out by way of segments and funnels, and what names a failed segment; the rest goes on', async () => {
    const named = await segment('Named', all(attribute('plan', 'is', ANA)));
    const within = await segment('Within', all(inSegment(named.identifier)), named.id);
    const outside = await segment('Outside', all(inSegment(within.identifier, 'is_not_in')), within.id);
    const none = await segment('None', all(inSegment(named.identifier, 'is_in', 'none_of')), named.id);
    const twice = await segment('Twice', all(inSegment(named.identifier, 'is_not_in', 'none_of')), named.id);
    const further = await segment('Further', all(inSegment(outside.identifier)), outside.id);
    const funnel = await insertSampleFunnel(store.db, world, app, [{ seller: ANA }]);
    const through = await segment('Through', all(inFunnel(funnel.identifier)));
    const beside = await segment('Beside', all(inFunnel(funnel.identifier, 'is_not_in')));
    const campaigns = await Promise.all(
      (['ongoing', 'draft', 'finished'] as const).map((status) =>
        insertCampaign(all(inSegment(further.identifier)), status),
      ),
    );
    const going = await insertCampaign(all(inSegment(within.identifier)));
    const [ongoing] = campaigns;
    await write(store.db, (tx) =>
      insertCampaignRun(tx, world.entity.id, { ...ongoing!, createdBy: world.user.id }, new Date()),
    );
    await erase(user(ANA));
    const segments = [named, within, outside, none, twice, further, through, beside];
    const failures = await Promise.all(segments.map((one) => failureOf(one.identifier)));
    expect(failures.map((failure) => failure !== null)).toEqual([false, false, true, true, false, true, false, true]);
    expect(failures[5]).toMatch(/the segment "Outside" has failed: .+ it leaves people out by the segment "Within"/);
    const states = await Promise.all([...campaigns, going].map(({ id }) => campaignOf(id)));
    expect(states.map(({ status, failure }) => [status, failure !== null])).toEqual([
      ['failed', true],
      ['draft', true],
      ['finished', false],
      ['ongoing', false],
    ]);
    const { rows } = await store.db.query(
      'SELECT cancel_requested_at IS NOT NULL AS canceled FROM sends WHERE entity_id = $1',
      [world.entity.id],
    );
    expect(rows).toEqual([{ canceled: true }]);
  });
});
