/** The pages of people: one is found and seen whole, under a single look; unknown and erased people; missing rights. */
import { beforeAll, describe, expect, test } from 'vitest';
import { write } from '../../store/core/database.ts';
import { raiseTombstones } from '../../store/gdpr/tombstone-batches.ts';
import { mergeAttributeValues, prepareChanges } from '../../store/attributes/merge-attribute-values.ts';
import { insertHold } from '../../store/gdpr/holds.ts';
import { attributesFilter, insertSampleSegment } from '../harness/analytics/segments.ts';
import { insertSampleApp } from '../harness/apps/apps.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { PERSON_MARK, personId } from '../harness/core/people.ts';
import { deletionByDevice } from '../harness/gdpr/gdpr-requests.ts';
import { ensureSampleMonths, sampleActivity } from '../harness/tracking/sdk-samples.ts';
import { sampled } from '../harness/run/seed.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();
/** An id with everything that has a meaning in an address. */
const ANNE = `${personId(980_001)} +&%41#?=/é`;
const ERASED = personId(980_002);
const MAIL = `${personId(980_003)}@example.com`;
const PHONE = 'phone of 980001';
let shop: string;

beforeAll(async () => {
  const { entity, attributes } = world;
  await ensureSampleMonths(store.db);
  const app = await write(store.db, async (tx) => {
    await insertHold(tx, entity.id, {
      customerType: 'user_id',
      customerId: ANNE,
      kind: 'hold',
      reason: 'A claim of 2026',
      createdBy: world.user.id,
    });
    const value = { line: 1, kind: 'value', customerType: 'user_id', customerId: ANNE, valueType: 'String' } as const;
    const change = { ...value, attributeId: attributes.plan!.id, value: MAIL };
    await mergeAttributeValues(tx, store.secrets, entity.id, world.sor.id, prepareChanges([change]));
    return insertSampleApp(tx, entity.id, 'com.example.shop');
  });
  shop = app.identifier;
  await sampleActivity(store.db, entity.id, { appId: app.id, deviceId: PHONE, userId: ANNE });
  await store.db.query(
    `WITH older AS (
       INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at)
       SELECT $1, $2, 'tablet ' || n, '2026-10-01', '2026-10-01' FROM generate_series(1, 6) n RETURNING device_id)
     INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, device_id, $3, '2026-10-01' FROM older`,
    [entity.id, app.id, ANNE],
  );
  await store.db.query(`UPDATE events SET detail = '{"order": 9223372036854775807}' WHERE entity_id = $1`, [entity.id]);
  await insertSampleSegment(store.db, entity.id, { appId: app.id, name: 'Golden', people: [`u${ANNE}`] });
  await insertSampleSegment(store.db, entity.id, {
    appId: app.id,
    name: 'Mailed',
    filters: attributesFilter(world.sor.identifier, [MAIL]),
  });
  await insertMessages(app.id);
  await store.db.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, app_id, device_id) VALUES ($1, 'guest 7', $2, $3, $4)`,
    [entity.id, ANNE, app.id, PHONE],
  );
  await deletionByDevice(store.db, entity.id, { userId: ANNE, deviceId: null });
  await raiseTombstones(store, entity.id, [store.secrets.customerHash(entity.id, 'user_id', ERASED)]);
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

/** 120 messages: more than a page of the timeline. */
async function insertMessages(appId: number): Promise<void> {
  await store.db.query(
    `WITH campaign AS (
       INSERT INTO campaigns (entity_id, identifier, app_id, name, type, includes_push, includes_inapp, params)
       VALUES ($1, 'cmp_spring', $2, 'Spring', 'classic', true, false, '{"push_message":"Hello","push_parameters":[]}') RETURNING id)
     INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, created_at, settled_at, opened_at, device_id, user_id)
     SELECT $1, campaign.id, $2, 'push', 'settled', CASE n WHEN 1 THEN 'PUSH_SENT' ELSE 'OPT_OUT' END,
       '2026-11-07'::timestamptz - n * interval '1 hour', '2026-11-07', CASE n WHEN 1 THEN '2026-11-08'::timestamptz END, $4, $3
     FROM campaign, generate_series(1, 120) n`,
    [world.entity.id, appId, ANNE, PHONE],
  );
}

/** A request whose messages have come to each outcome; the last of its people is erased. */
async function insertRequest(): Promise<string> {
  await store.db.query(
    `WITH campaign AS (
       INSERT INTO campaigns (entity_id, identifier, app_id, name, type, status, includes_push, includes_inapp, params)
       SELECT $1, 'cmp_parcel', id, 'Parcels', 'transactional', 'ongoing', true, false,
         '{"push_message":"Hello","push_parameters":[]}' FROM apps WHERE identifier = $2
       RETURNING id, app_id),
     send AS (
       INSERT INTO sends (entity_id, identifier, state, message_count, ended_at)
       VALUES ($1, 'snd_parcel', 'finished', 6, now()) RETURNING id),
     named AS (INSERT INTO send_campaigns SELECT $1, send.id, 0, campaign.id FROM send, campaign)
     INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, message_ordinal, channel, state, code, settled_at, delivered_at,
       opened_at, device_id, user_id, details)
     SELECT $1, campaign.id, campaign.app_id, send.id, n - 1, 'push', 'settled', code, now(), CASE n WHEN 1 THEN now() END,
       CASE n WHEN 1 THEN now() END, CASE WHEN n < 5 THEN $4 END, CASE WHEN n < 6 THEN $3 END, CASE code WHEN 'REFUSED' THEN 'BAD: it is bad' END
     FROM campaign, send, unnest('{PUSH_SENT,PUSH_SENT,UNKNOWN,REFUSED,NO_DEVICE_FOR_USER,NO_DEVICE_FOR_USER}'::text[])
       WITH ORDINALITY AS made (code, n)`,
    [world.entity.id, shop, ANNE, PHONE],
  );
  return 'snd_parcel';
}

/** Entries of looks at people in the audit log, by what was looked at, since the last call. */
async function newLooks(): Promise<string[]> {
  const { rows } = await store.db.query<{ id: number; what: string }>(
    `SELECT id, concat_ws(' ', subject_kind, details ->> 'what') AS what FROM audit_log
     WHERE entity_id = $1 AND action = 'read' AND id > $2 ORDER BY id`,
    [world.entity.id, seen],
  );
  seen = rows.at(-1)?.id ?? seen;
  return rows.map(({ what }) => what);
}
let seen = 0;

async function opened(
  path: string,
  { clock = false, ...more }: Parameters<typeof makePerson>[2] & { clock?: boolean } = {},
): Promise<Tab> {
  const { email } = await makePerson(store, world, more);
  const tab = await browser.open!({ clock });
  await logIn(tab, email, `/console${path}`);
  await newLooks();
  return tab;
}

/** Expects what each state of each page must be. One of two widths is scanned. */
async function expectSound({ page, faults }: Tab): Promise<void> {
  states += 1;
  const scanned = sampled(`width of state ${states}`, [1280, 320], 0.5);
  if (scanned.includes(1280)) expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await isTooWide(page)).toBe(false);
  // The bar at the top stays, and covers what is scrolled below it.
  await page.evaluate('scrollTo(0, 0)');
  if (scanned.includes(320)) expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(faults).toEqual([]);
}
let states = 0;

const fragmentOf = (kind: string, id: string): string => `#${new URLSearchParams({ [kind]: id }).toString()}`;

describe.skipIf(browser.open === null)('the pages of people', () => {
  test('a person is found by id and by value, and seen whole under one look, whose id no address has', async () => {
    const tab = await opened('/people');
    const { page } = tab;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByLabel('User id, device id, or the value').fill(MAIL);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByText('value of plan in').waitFor();
    // No id equals the text, so the values were searched, too.
    expect(await newLooks()).toEqual(['customer find', 'customer find']);
    await page.getByLabel('User id, device id, or the value').fill(ANNE);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByRole('cell', { name: 'user id', exact: true }).waitFor();
    expect(await newLooks()).toEqual(['customer find']);
    await expectSound(tab);

    await page.getByRole('link', { name: ANNE }).click();
    await page.getByRole('heading', { level: 1, name: ANNE }).waitFor();
    await page.getByText('On hold since').waitFor();
    await page.getByText('claimed', { exact: true }).first().waitFor();
    await page.getByText('1 confirmed by a device').waitFor();
    await page.getByText('Message: Spring').first().waitFor();
    expect(await newLooks()).toEqual(['customer person']);
    await expectSound(tab);
    const devices = page.getByRole('table', { name: 'Devices', exact: true }).getByRole('row');
    expect(await devices.count()).toBe(1 + 5);
    await page.getByRole('button', { name: 'Show all 7 devices' }).click();
    await expect.poll(() => devices.count()).toBe(1 + 7);

    await page.getByRole('button', { name: 'Older entries' }).click();
    await page.getByText('Session, ').waitFor();
    await page.getByText('1 event', { exact: true }).click();
    await page.getByText('Application Crashed').waitFor();
    await page.getByText('{"order":9223372036854775807}').first().waitFor();
    await page.getByRole('button', { name: 'Requests' }).click();
    await page.getByRole('link', { name: 'Deletion request' }).waitFor();
    await expect.poll(() => page.getByText('Message: Spring').count()).toBe(0);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByLabel('Up to (UTC)').fill('2026-11-05');
    await page.getByText('Session, ').waitFor();
    // The strip counts the days that the list has not read yet, too.
    await page.getByRole('img', { name: 'Messages on 4 of 90 days' }).waitFor();
    await page.getByRole('img', { name: 'Sessions on 1 of 90 days' }).waitFor();
    expect(await page.getByRole('link', { name: 'Deletion request' }).count()).toBe(0);

    await page.getByRole('tab', { name: /^Attributes/ }).click();
    await page.getByRole('cell', { name: MAIL }).waitFor();
    await page.getByRole('tab', { name: /^Messages/ }).click();
    await page.getByText('the provider took the push').waitFor();
    await page.getByLabel('Campaign', { exact: true }).selectOption({ label: 'Spring (draft)' });
    await page.getByText('a draft: it is not launched').waitFor();
    await page.getByText('the provider took the push').first().waitFor();
    await expectSound(tab);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('cell', { name: 'Golden' }).waitFor();
    const segment = page.getByLabel('Segment', { exact: true });
    await segment.selectOption({ label: `Golden (${shop})` });
    await page.getByText('a list of people, without filters').waitFor();
    await segment.selectOption({ label: `Mailed (${shop})` });
    await page.getByText('not in the segment', { exact: true }).waitFor();
    await page.getByText('the next refresh brings the change').waitFor();
    await page.getByText(`attribute plan is ${MAIL}`).waitFor();
    expect(await page.getByText('met', { exact: true }).count()).toBe(1);
    await expectSound(tab);
    await page.getByRole('tab', { name: /^Segments/ }).press('ArrowRight');
    await page.getByRole('cell', { name: 'A claim of 2026' }).waitFor();
    await expectSound(tab);
    await page.getByRole('tab', { name: 'Copies' }).click();
    await page.getByText('No exporter writes to a bucket.').waitFor();
    // The tabs have read on under the look of the page.
    expect(await newLooks()).toEqual([]);

    expect(new URL(page.url()).hash).not.toBe('');
    expect(addresses.filter((each) => decodeURIComponent(each).includes(PERSON_MARK))).toEqual([]);
    expect(page.url().split('#')[0]).not.toContain(PERSON_MARK);
    expect(await page.evaluate<number>('localStorage.length + sessionStorage.length')).toBe(0);
    await page.goBack();
    await page.getByRole('cell', { name: 'user id', exact: true }).waitFor();
    expect(await newLooks()).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test('a request adds up what became of its messages, names each person after a press, and says why one got it or not', async () => {
    const tab = await opened(`/sends/${await insertRequest()}`);
    const { page } = tab;
    const balance = page.getByRole('region', { name: 'Balance' });
    await balance.getByText('pushes left').waitFor();
    const said = (await balance.innerText()).replaceAll(/\s+/g, ' ');
    expect(said).toContain(
      '4 pushes left = 1 confirmed by the device + 1 taken by the provider + 1 unknown + 1 refused',
    );
    await page.getByRole('cell', { name: 'no device of the user has the app' }).waitFor();
    expect(await newLooks()).toEqual([]);
    await page.getByRole('button', { name: 'Show who got the messages' }).click();
    const rows = page.getByRole('table', { name: 'Decisions, in the order of the request' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(1 + 6);
    expect((await rows.nth(6).innerText()).split(/\s*\n\s*|\t/).filter(Boolean)).toEqual(['6', 'erased person']);
    await expectSound(tab);
    await balance.getByRole('link').nth(2).click();
    await expect.poll(() => rows.count()).toBe(1 + 1);
    await page.getByText('UNKNOWN', { exact: true }).first().waitFor();
    await page.getByLabel('Outcome').selectOption({ label: 'All outcomes' });
    await page.getByLabel('Code').selectOption({ label: 'PUSH_SENT (2)' });
    await expect.poll(() => rows.count()).toBe(1 + 2);
    expect(await newLooks()).toEqual(['send', 'send', 'send']);
    await page
      .getByRole('button', { name: `Why ${ANNE} got it or not` })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Show why this person gets it or not' }).click();
    await dialog.getByText('each request of POST /api/transac names its users').waitFor();
    await dialog.getByText('Push token').first().waitFor();
    expect(await newLooks()).toEqual(['customer delivery']);
    await expectSound(tab);
    expect(page.url()).not.toContain(PERSON_MARK);
  });

  test('a link to a person looks after a press, and a request begins with the id', async () => {
    const tab = await opened(`/people?until=20266-11-05${fragmentOf('user_id', ANNE)}`, { clock: true });
    const { page } = tab;
    const show = page.getByRole('button', { name: 'Show this person' });
    await show.waitFor();
    expect(await newLooks()).toEqual([]);
    await expectSound(tab);
    await show.click();
    await page.getByRole('heading', { level: 1, name: ANNE }).waitFor();
    await page.getByRole('button', { name: 'Request access' }).click();
    expect(await page.getByLabel('User ids, one a line').inputValue()).toBe(ANNE);
    await page.getByText('1 person.').waitFor();
    await page.getByRole('button', { name: 'Leave it' }).click();
    expect(await page.getByRole('button', { name: 'Put on hold' }).count()).toBe(0);
    await page.getByRole('tab', { name: /^Privacy/ }).click();
    await page.getByRole('button', { name: 'Show the aliases' }).click();
    await page.getByRole('cell', { name: 'guest 7' }).waitFor();
    await page.getByRole('button', { name: 'Show the ids that a request covers' }).click();
    await page.getByText('One alias waits for a decision').waitFor();
    expect(await newLooks()).toEqual(['customer person', 'customer aliases', 'customer identifiers']);
    await page.getByText('written into the audit log, once').waitFor();
    await page.clock.fastForward(3_600_000);
    await page.getByText('what you read on here writes one more entry each time').waitFor();
    expect(await page.getByText('written into the audit log, once').count()).toBe(0);
    expect(await newLooks()).toEqual([]);
    await page.getByRole('button', { name: 'Look again (one more entry)' }).click();
    await page.getByText('written into the audit log, once').waitFor();
    await expect.poll(newLooks).toEqual(['customer person']);
    await expectSound(tab);
  });

  test('a device has a page of its own, names its users, and is put on hold without another look', async () => {
    const tab = await opened(`/people${fragmentOf('find', PHONE)}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByRole('link', { name: PHONE }).click();
    await page.getByText('used this device').waitFor();
    expect(await page.getByRole('button', { name: 'Request access' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Put on hold' }).click();
    const form = page.getByRole('dialog');
    expect(await form.getByLabel('Id', { exact: true }).inputValue()).toBe(PHONE);
    await form.getByLabel('Reason').fill('A stolen phone');
    await form.getByRole('button', { name: 'Put on hold' }).click();
    await page.getByText('A stolen phone').waitFor();
    await page.getByRole('link', { name: `Person ${ANNE}` }).click();
    await page.getByRole('button', { name: 'Show this person' }).waitFor();
    expect(await newLooks()).toEqual(['customer find', 'customer person']);
    expect(tab.faults).toEqual([]);
  });

  test('an unknown id says so and may be one that was erased; an erased person is these words alone', async () => {
    const tab = await opened('/people');
    const { page } = tab;
    await page.getByLabel('User id, device id, or the value').fill(ERASED);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByText('No person has this id or value').waitFor();
    await page.getByRole('link', { name: 'user id', exact: true }).click();
    await page.getByRole('button', { name: 'Show this person' }).click();
    await page.getByRole('heading', { level: 1, name: 'erased person' }).waitFor();
    expect(await page.getByRole('main').innerText()).toBe('erased person');
    await expectSound(tab);
    await page.goto(`/console/people${fragmentOf('user_id', 'never seen')}`);
    await page.reload();
    await page.getByRole('button', { name: 'Show this person' }).click();
    await page.getByRole('heading', { level: 1, name: 'Unknown id' }).waitFor();
    await page.getByRole('button', { name: 'Show its receipts' }).click();
    await page.getByText('No receipt names this person').waitFor();
    await expectSound(tab);
  });

  test('a tab whose right is missing says so alone, and the page needs one of the rights', async () => {
    const tab = await opened(`/people${fragmentOf('user_id', ANNE)}`, {
      rights: ['usage_analytics_view', 'segments_view'],
      admin: false,
    });
    const { page } = tab;
    await page.getByRole('button', { name: 'Show this person' }).click();
    await page.getByText('Session, ').waitFor();
    expect(await page.getByText('On hold since').count()).toBe(0);
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByRole('tabpanel').getByText('This needs the right campaign_view').waitFor();
    await page.getByRole('tab', { name: 'Copies' }).click();
    await page
      .getByRole('region', { name: 'Destinations of syncs' })
      .getByText('Needs the right sor_manage.')
      .waitFor();
    await page.getByRole('tab', { name: /^Segments/ }).click();
    await page.getByRole('cell', { name: 'Golden' }).waitFor();
    await expectSound(tab);

    const other = await opened('/people', { rights: ['funnels_view'], admin: false });
    await other.page.getByText('Needs the right usage_analytics_view or segments_view').waitFor();
    expect(await other.page.getByRole('link', { name: 'People', exact: true }).count()).toBe(0);
    expect(other.faults).toEqual([]);
  });
});
