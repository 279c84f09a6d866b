import { beforeAll, describe, expect, it } from 'vitest';
import { wakeSegments } from '../../../temporal/flows.ts';
import { segments } from '../../../store/analytics/personal-data.ts';
import { deleteMembersOfDeleted } from '../../../store/jobs/retention-across-entities.ts';
import { listErasedPeople } from '../../../store/analytics/segment-members.ts';
import { claimDueSegment } from '../../../store/analytics/segment-refresh.ts';
import { deleteSegment, findSegment, wantRefresh } from '../../../store/analytics/segments.ts';
import { deleteCampaign } from '../../../store/campaigns/campaigns.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import {
  fromCountry,
  inSegments,
  insertSampleSegment,
  insertSampleUsers,
  listMembers,
} from '../../harness/analytics/sample-segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';

const stack = useStack();
const USERS = 30;
let world: World;
let app: { id: number; identifier: string };

beforeAll(async () => {
  stack.startWorker({ batchRecords: 4 });
  stack.startWorker({ batchRecords: 7 });
  world = await makeWorld(stack.store);
  app = await insertSampleApp(stack.store.db, world.entity.id, 'com.example.refreshed');
  await insertSampleUsers(
    stack.store.db,
    world.entity.id,
    app.id,
    Array.from({ length: USERS }, (_, number) => personId(number)),
  );
});

type Answer = {
  identifier: string;
  state: string;
  failure: string | null;
  snapshot_at: string;
  filters: object;
  preview: object;
  reach: object;
};

async function call(method: 'GET' | 'POST' | 'PUT', path: string, payload?: object): Promise<Answer> {
  const headers = { authorization: `Token ${world.token}` };
  const reply = await stack.app.inject({ method, url: `/api/${path}`, headers, ...(payload && { payload }) });
  return reply.json<{ result: Answer }>().result;
}

const settled = (identifier: string, since?: string) =>
  waitFor('the snapshot', async () => {
    const segment = await call('GET', `segments/${identifier}`);
    return segment.state !== 'computing' && segment.snapshot_at !== since && segment;
  });

async function idOf(identifier: string): Promise<number> {
  const { rows } = await stack.store.db.query<{ id: number }>('SELECT id FROM segments WHERE identifier = $1', [
    identifier,
  ]);
  return rows[0]!.id;
}

const french = Array.from({ length: USERS }, (_, number) => number)
  .filter((number) => (number + 1) % 3 === 0)
  .map((number) => `u${personId(number)}`)
  .toSorted();

describe('a segment', () => {
  it('has the people, the counts and the reach that its preview said, and the same members after every refresh', async () => {
    const filters = fromCountry('FR');
    const created = await call('POST', 'segments', { name: 'French', app: app.identifier, filters });
    const segment = await settled(created.identifier);
    expect(segment).toMatchObject({
      state: 'active',
      failure: null,
      analytics_enabled: true,
      eligible_for_ab_testing: true,
    });
    const { preview, reach } = segment;
    expect(await call('POST', 'segments/preview', { app: app.identifier, filters })).toMatchObject({ preview, reach });
    expect(preview).toEqual({ people_number: 10, people_percent: 33.33, push_percent: 50 });
    expect(reach).toEqual({ count: 10, optin: 5, token: 10, total: 30 });
    const id = await idOf(created.identifier);
    expect(await listMembers(stack.store.db, world.entity.id, id)).toEqual(french);

    const versions = () =>
      stack.store.db.query('SELECT xmin, ctid FROM segment_members WHERE segment_id = $1 ORDER BY person', [id]);
    const { rows: before } = await versions();
    await write(stack.store.db, (tx) => wantRefresh(tx, world.entity.id, id));
    await wakeSegments(stack.temporal, world.entity.id);
    await settled(created.identifier, segment.snapshot_at);
    expect((await versions()).rows).toEqual(before);
  });

  it('says who joined and who left at a refresh, also by day; its first people did not join', async () => {
    const filters = fromCountry('IT');
    const { identifier } = await call('POST', 'segments', { name: 'Italian', app: app.identifier, filters });
    const id = await idOf(identifier);
    const move = async (country: string, ...numbers: number[]) => {
      const { snapshot_at: since } = await settled(identifier);
      await stack.store.db.query(
        'UPDATE devices SET country = $3 WHERE entity_id = $1 AND app_id = $2 AND last_user_id = ANY ($4)',
        [world.entity.id, app.id, country, numbers.map((number) => personId(number))],
      );
      await write(stack.store.db, (tx) => wantRefresh(tx, world.entity.id, id));
      await wakeSegments(stack.temporal, world.entity.id);
      await settled(identifier, since);
    };
    await move('IT', 0, 1, 3);
    await move('DE', 0, 3);
    const { changes } = (await call('GET', `segments/${identifier}/changes`)) as unknown as { changes: object[] };
    expect(changes).toHaveLength(5);
    expect(changes.map((change) => (change as { joined: boolean }).joined)).toEqual([false, false, true, true, true]);
    const day = { joined: 3, left: 2, people: 1, listed: 5 };
    expect(await call('GET', `segments/${identifier}/days`)).toMatchObject([day]);
    await call('PUT', `segments/${identifier}`, { filters: fromCountry('DE') });
    await settled(identifier);
    expect(await call('GET', `segments/${identifier}/days`)).toMatchObject([{ ...day, people: 19 }]);
    await call('PUT', `segments/${identifier}`, { filters: fromCountry('IT') });
    await move('DE', 1);
  });

  it('follows those that it names, and changes of its filters, of which the older members go', async () => {
    const guests = await call('POST', 'segments', { name: 'Guests', app: app.identifier, static: true });
    const named = await call('POST', 'segments', {
      name: 'Named',
      app: app.identifier,
      filters: inSegments(guests.identifier),
    });
    expect(await settled(named.identifier)).toMatchObject({ preview: { people_number: 0 } });
    const { snapshot_at: since } = await settled(guests.identifier);
    await call('POST', `segments/${guests.identifier}/people`, { ids: [personId(1), personId(2), personId(77)] });
    await settled(guests.identifier, since);
    expect(
      await waitFor('the people', async () => {
        const segment = await call('GET', `segments/${named.identifier}`);
        return (segment.preview as { people_number: number }).people_number > 0 && segment;
      }),
    ).toMatchObject({ preview: { people_number: 2 } });

    await call('PUT', `segments/${named.identifier}`, { filters: fromCountry('FR') });
    await settled(named.identifier);
    expect(await listMembers(stack.store.db, world.entity.id, await idOf(named.identifier))).toEqual(french);
  });

  it("that can't be computed says why, and keeps no other from it", async () => {
    const { identifier } = await call('POST', 'segments', {
      name: 'Failing',
      app: app.identifier,
      filters: fromCountry('FR'),
    });
    await settled(identifier);
    const broken = JSON.stringify(inSegments('seg_gone'));
    await stack.store.db.query(
      `UPDATE segments SET filters = $2, generation = generation + 1, refresh_wanted_at = now()
       WHERE identifier = $1`,
      [identifier, broken],
    );
    await wakeSegments(stack.temporal, world.entity.id);
    await waitFor('the failure', async () => (await call('GET', `segments/${identifier}`)).state === 'failed');
    expect(await call('GET', `segments/${identifier}`)).toMatchObject({
      failure: expect.stringContaining('is no segment') as string,
    });
    // No code expects this error of the database.
    expectFault('refreshSegment');
    const tooMany = {
      filter_on: 'events',
      log_type: 0,
      log_name: 'Any',
      operator: 'at_least',
      count: 1e30,
      period: { last_days: 1 },
    };
    await stack.store.db.query(
      `INSERT INTO event_definitions (entity_id, app_id, log_type, name) VALUES ($1, $2, 2, 'Any')`,
      [world.entity.id, app.id],
    );
    await stack.store.db.query(
      `UPDATE segments SET filters = $2, generation = generation + 1, failure = NULL, refresh_wanted_at = now() - interval '1 day'
       WHERE identifier = $1`,
      [identifier, JSON.stringify({ operator: 'and', blocks: [{ operator: 'and', filters: [tooMany] }] })],
    );
    const other = await call('POST', 'segments', { name: 'Other', app: app.identifier, filters: fromCountry('DE') });
    expect(await settled(other.identifier)).toMatchObject({ preview: { people_number: 20 } });
    expect(await call('GET', `segments/${identifier}`)).toMatchObject({
      state: 'failed',
      failure: expect.stringMatching(/^An error in Millrace \(22\w+\): it is tried again$/) as string,
    });
  });

  it('that names one whose filters change has no snapshot until both are refreshed', async () => {
    const own = await makeWorld(stack.store);
    const { id: appId } = await insertSampleApp(stack.store.db, own.entity.id, 'com.example.changed');
    const changed = await insertSampleSegment(stack.store.db, own, appId, {
      name: 'Changed',
      filters: fromCountry('FR'),
    });
    const naming = await insertSampleSegment(stack.store.db, own, appId, {
      name: 'Naming',
      filters: inSegments(changed.identifier),
      uses: [changed.id],
    });
    await stack.store.db.query('UPDATE segments SET snapshot_at = now() WHERE entity_id = $1', [own.entity.id]);
    await write(stack.store.db, (tx) => wantRefresh(tx, own.entity.id, changed.id, { isChanged: true }));
    for (const { identifier } of [changed, naming]) {
      expect(await findSegment(stack.store.db, own.entity.id, identifier)).toMatchObject({ snapshotAt: null });
    }
  });

  it('whose refresh was lost with its process keeps no other that is due', async () => {
    const own = await makeWorld(stack.store);
    const { id: appId } = await insertSampleApp(stack.store.db, own.entity.id, 'com.example.lost');
    const [first, second] = await Promise.all(
      ['First', 'Second'].map((name) =>
        insertSampleSegment(stack.store.db, own, appId, { name, filters: fromCountry('FR') }),
      ),
    );
    const claimed = [];
    for (let time = 0; time < 3; time += 1) claimed.push((await claimDueSegment(stack.store.db, own.entity.id))!.id);
    expect(new Set(claimed.slice(0, 2))).toEqual(new Set([first!.id, second!.id]));
    expect(claimed[2]).toBe(claimed[0]);
  });

  it('of a list keeps a device that the app has seen with a user since, as that user', async () => {
    const own = await makeWorld(stack.store);
    const { id: appId } = await insertSampleApp(stack.store.db, own.entity.id, 'com.example.listed');
    const { id, identifier } = await insertSampleSegment(stack.store.db, own, appId, { name: 'Listed', filters: null });
    await stack.store.db.query(
      `INSERT INTO segment_members (entity_id, segment_id, person) SELECT $1, $2, unnest($3::text[])`,
      [own.entity.id, id, [`ddevice of ${personId(300)}`, 'dunseen', `u${personId(301)}`]],
    );
    await insertSampleUsers(stack.store.db, own.entity.id, appId, [personId(300), personId(301)]);
    await wakeSegments(stack.temporal, own.entity.id);
    await waitFor(
      'the snapshot',
      async () => (await findSegment(stack.store.db, own.entity.id, identifier))!.snapshotAt !== null,
    );
    expect(await listMembers(stack.store.db, own.entity.id, id)).toEqual([
      'dunseen',
      `u${personId(300)}`,
      `u${personId(301)}`,
    ]);
    expect(await findSegment(stack.store.db, own.entity.id, identifier)).toMatchObject({ peopleCount: 2 });
  });

  it('names a campaign, and once this is deleted says that it is unknown', async () => {
    const campaign = await insertSampleCampaign(stack.store.db, world.entity.id, app.id, { status: 'draft' });
    const filter = { filter_on: 'campaigns', campaign_identifiers: [campaign.identifier], operator: 'is_not_in' };
    const filters = { blocks: [{ filters: [filter] }] };
    const { identifier } = await call('POST', 'segments', { name: 'Unreached', app: app.identifier, filters });
    expect(await settled(identifier)).toMatchObject({ state: 'active', preview: { people_number: USERS } });
    const id = await idOf(identifier);
    await write(stack.store.db, async (tx) => {
      await deleteCampaign(tx, world.entity.id, campaign.id);
      await wantRefresh(tx, world.entity.id, id);
    });
    await wakeSegments(stack.temporal, world.entity.id);
    expect(
      await waitFor('the failure', async () => {
        const segment = await call('GET', `segments/${identifier}`);
        return segment.state === 'failed' && segment;
      }),
    ).toMatchObject({
      failure:
        'filters.blocks.0.filters.0.campaign_identifiers.0: is no campaign of your entity: GET /api/campaigns lists them',
    });
  });

  it('is refreshed after an erasure whose id a number in its filters equals: what is left can be sent back', async () => {
    const score = (operator: string, ...values: string[]) => ({
      filter_on: 'attributes',
      sor_identifier: world.sor.identifier,
      attribute_key: 'score',
      operator,
      values,
    });
    const scores = [score('at_least', '25'), score('is', '25'), score('is', '26')];
    const filters = { operator: 'or', blocks: [{ operator: 'or', filters: scores }] };
    const { identifier } = await call('POST', 'segments', { name: 'Scores', app: app.identifier, filters });
    const { snapshot_at: since } = await settled(identifier);
    await call('PUT', `customer_attributes/${world.attributes.score!.identifier}`, { is_identifier: true });
    await segments.erase!(stack.store, world.entity.id, [{ customerType: 'user_id', customerId: '25' }]);
    await wakeSegments(stack.temporal, world.entity.id);
    expect(await settled(identifier, since)).toMatchObject({ state: 'active', failure: null });
    const {
      rows: [left],
    } = await stack.store.db.query<{ filters: typeof filters }>('SELECT filters FROM segments WHERE identifier = $1', [
      identifier,
    ]);
    expect(left!.filters.blocks[0]!.filters.map(({ values }) => values)).toEqual([['25'], [], ['26']]);
    expect(await call('POST', 'segments/preview', { app: app.identifier, filters: left!.filters })).toMatchObject({
      preview: {},
    });
    const { filters: shown } = await call('GET', `segments/${identifier}`);
    expect(await call('PUT', `segments/${identifier}`, { filters: shown })).toMatchObject({
      state: 'active',
      filters: shown,
    });
  });

  it('leaves out people who were erased, also those who are members already', async () => {
    const own = await makeWorld(stack.store);
    const { id: appId } = await insertSampleApp(stack.store.db, own.entity.id, 'com.example.erased');
    const people = [personId(200), personId(201), personId(202)];
    await insertSampleUsers(stack.store.db, own.entity.id, appId, people);
    const everybody = { operator: 'and', blocks: [] } as const;
    const { id } = await insertSampleSegment(stack.store.db, own, appId, {
      name: 'All',
      filters: { ...everybody, blocks: [] },
    });
    await wakeSegments(stack.temporal, own.entity.id);
    await waitFor('the members', async () => (await listMembers(stack.store.db, own.entity.id, id)).length === 3);
    await write(stack.store.db, async (tx) => {
      await insertTombstone(tx, own.entity.id, stack.store.secrets.customerHash(own.entity.id, 'user_id', people[1]!));
      await wantRefresh(tx, own.entity.id, id);
    });
    await wakeSegments(stack.temporal, own.entity.id);
    await waitFor('two members', async () => (await listMembers(stack.store.db, own.entity.id, id)).length === 2);
    const kept = await listMembers(stack.store.db, own.entity.id, id);
    expect(await listErasedPeople(stack.store.db, stack.store.secrets, own.entity.id, kept)).toEqual(new Set());
    await write(stack.store.db, (tx) => deleteSegment(tx, own.entity.id, id));
    await deleteMembersOfDeleted(stack.store.db);
    expect(await listMembers(stack.store.db, own.entity.id, id)).toEqual([]);
  });
});
