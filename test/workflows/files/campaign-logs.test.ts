import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { fetchFile } from '../../harness/core/fetch-file.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { askFor, requestTreated } from '../../harness/gdpr/gdpr.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';

const stack = useStack();
let world: World;
let app: { id: number; identifier: string };
let quiet: { id: number; identifier: string };
const campaigns: { id: number; identifier: string }[] = [];

const HOUR = 3_600_000;
/** A whole second, so that it can be written without a fraction. */
const noon = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 48 * HOUR);
const at = (ms: number) => new Date(noon.getTime() + ms);
const PERSON = 'zq-logged-person';

beforeAll(async () => {
  const {
    store: { db },
  } = stack;
  world = await makeWorld(stack.store);
  app = await insertSampleApp(db, world.entity.id, 'com.example.logs');
  quiet = await insertSampleApp(db, world.entity.id, 'com.example.quiet');
  campaigns.push(
    await insertSampleCampaign(db, world.entity.id, app.id),
    await insertSampleCampaign(db, world.entity.id, app.id),
  );
  await db.query(`INSERT INTO sends (entity_id, identifier, message_count) VALUES ($1, 'snd_logged', 1)`, [
    world.entity.id,
  ]);
  const [first, second] = campaigns;
  for (const [campaign, created, others] of [
    [first!, at(-1), {}],
    [second!, at(0), { code: 'OPT_OUT', details: 'said no, "twice"' }],
    [
      first!,
      at(0),
      {
        user: PERSON,
        device: 'phone',
        send: true,
        variant: 'B',
        settled: at(5_000),
        delivered: at(6_000),
        opened: at(7_000),
        shown: at(8_000),
        clicked: at(9_000),
      },
    ],
    [first!, at(HOUR), { user: 'ben' }],
    [first!, at(HOUR + 1), {}],
  ] as const)
    await insertAttempt(campaign.id, created, others);
  // More than are read at once.
  await db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, created_at, user_id)
     SELECT $1, $2, $3, 'push', 'settled', 'PUSH_SENT', $4::timestamptz, 'many' FROM generate_series(1, 2500)`,
    [world.entity.id, second!.id, app.id, at(-5 * HOUR)],
  );
});

type Attempt = {
  user?: string;
  device?: string;
  send?: boolean;
  variant?: string;
  code?: string;
  details?: string;
  settled?: Date;
  delivered?: Date;
  opened?: Date;
  shown?: Date;
  clicked?: Date;
};

async function insertAttempt(campaignId: number, created: Date, attempt: Attempt): Promise<void> {
  await stack.store.db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, channel, state, code, details, variant, user_id, device_id, created_at,
       settled_at, delivered_at, opened_at, shown_at, clicked_at)
     VALUES ($1, $2, $3, CASE WHEN $4 THEN (SELECT id FROM sends WHERE entity_id = $1) END, 'both', 'settled', $5, $6, $7, $8, $9, $10, $11,
       $12, $13, $14, $15)`,
    [
      world.entity.id,
      campaignId,
      app.id,
      attempt.send ?? false,
      attempt.code ?? 'PUSH_SENT',
      attempt.details,
      attempt.variant,
      attempt.user,
      attempt.device,
      created,
      attempt.settled,
      attempt.delivered,
      attempt.opened,
      attempt.shown,
      attempt.clicked,
    ],
  );
}

type Answer = {
  status: number;
  result: string | { report_urls: string[] };
  error_message?: string;
  code: string;
  element?: string;
};

async function ask(query: Record<string, string>): Promise<Answer> {
  const reply = await stack.app.inject({
    method: 'GET',
    url: `/api/apps_campaign_logs?${new URLSearchParams(query).toString()}`,
    headers: { authorization: `Token ${world.token}` },
  });
  const body = reply.json<Answer & { status: string; messages?: { element: string }[] }>();
  return { ...body, status: reply.statusCode, code: body.status, element: body.messages?.[0]?.element };
}

/** Asked with the same parameters until the report is ready. */
const reportOf = (query: Record<string, string>) =>
  waitFor('the report', async () => {
    const { status, result } = await ask(query);
    if (status !== 200) throw new Error(`${status}`);
    return typeof result === 'object' && result.report_urls;
  });

const plain = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');
const window = (from: Date, till: Date) => ({ from: plain(from), till: plain(till) });
const rowsAt = async (link: string) =>
  parse(await fetchFile(stack.app, link), { columns: true }) as Record<string, string>[];

describe('campaign logs', () => {
  it('are made once for each app and exact window, then returned as links to a file for each app', async () => {
    const query = { apps: `${quiet.identifier},${app.identifier}`, ...window(at(0), at(HOUR)) };
    // Before any worker is there.
    for (let time = 0; time < 2; time += 1) expect((await ask(query)).result).toBe('Report being processed');
    const { rowCount } = await stack.store.db.query('SELECT FROM file_jobs');
    expect(rowCount).toBe(2);
    stack.startWorker();
    const links = await reportOf(query);
    expect(await reportOf({ ...query, from: at(0).toISOString() })).toEqual(links);
    expect(await reportOf({ ...query, apps: app.identifier })).toEqual([links[1]]);
    expect((await reportOf({ apps: app.identifier, ...window(at(0), at(HOUR + 1_000)) }))[0]).not.toBe(links[1]);

    expect(String(await fetchFile(stack.app, links[0]!)).trimEnd()).toBe(
      'campaign_id,campaign,variant,requestId,user_id,device_id,channel,' +
        'date,code,details,delivered_at,opened_at,shown_at,clicked_at',
    );
    const [first, second] = campaigns.map(({ identifier }) => identifier);
    const rows = await rowsAt(links[1]!);
    expect(
      rows.map(({ campaign_id: id, date, user_id: user, code, details }) => [id, date, user, code, details]),
    ).toEqual([
      [first, at(5_000).toISOString(), PERSON, 'PUSH_SENT', ''],
      [first, at(HOUR).toISOString(), 'ben', 'PUSH_SENT', ''],
      [second, at(0).toISOString(), '', 'OPT_OUT', 'said no, "twice"'],
    ]);
    expect(rows[0]).toMatchObject({
      campaign: 'sample',
      variant: 'B',
      requestId: 'snd_logged',
      device_id: 'phone',
      channel: 'both',
      delivered_at: at(6_000).toISOString(),
      opened_at: at(7_000).toISOString(),
      shown_at: at(8_000).toISOString(),
      clicked_at: at(9_000).toISOString(),
    });
    expect(
      await rowsAt((await reportOf({ apps: app.identifier, ...window(at(-6 * HOUR), at(-4 * HOUR)) }))[0]!),
    ).toHaveLength(2_500);
  });

  it('of an erased person are built anew under their link, without the person', async () => {
    const query = { apps: app.identifier, ...window(at(0), at(HOUR)) };
    const [link] = await reportOf(query);
    expect(String(await fetchFile(stack.app, link!))).toContain(PERSON);
    await requestTreated(stack.store, await askFor(stack, 'delete', world, [PERSON]));
    expect(await reportOf(query)).toEqual([link]);
    expect((await rowsAt(link!)).map(({ user_id: user, device_id: device, code }) => [user, device, code])).toEqual([
      ['', '', 'PUSH_SENT'],
      ['ben', '', 'PUSH_SENT'],
      ['', '', 'OPT_OUT'],
    ]);
  });

  it('are made anew once their links have expired or an erasure ended them, and say why they failed', async () => {
    const query = { apps: app.identifier, ...window(at(0), at(HOUR)) };
    const [link] = await reportOf(query);
    const change = (set: string) =>
      stack.store.db.query(`UPDATE file_jobs SET ${set} WHERE identifier = $1`, [/fil_\w+/.exec(link!)![0]]);
    await change(`state = 'failed', failure_status = '500', failure = 'The disk is full'`);
    expect(await ask(query)).toMatchObject({
      status: 400,
      code: 'file_failed',
      error_message: 'The disk is full. Another from or till makes another report',
    });
    await change(`failure_status = 'erased'`);
    const [second] = await reportOf(query);
    expect(second).not.toBe(link);
    await stack.store.db.query(`UPDATE file_jobs SET first_ended_at = now() - interval '7 days'`);
    expect(await reportOf(query)).not.toEqual([second]);
  });

  it('stay to be had when their start lies too far back meanwhile', async () => {
    const query = {
      apps: app.identifier,
      from: new Date(Date.now() - 30 * 24 * HOUR + 60_000).toISOString(),
      till: at(0).toISOString(),
    };
    const links = await reportOf(query);
    const earlier = new Date(Date.parse(query.from) - 2 * 60_000).toISOString();
    expect(await ask({ ...query, from: earlier })).toMatchObject({ status: 400, element: 'from' });
    // As if the minutes had passed.
    const {
      entity: { id: entityId },
    } = world;
    const { secrets, db } = stack.store;
    const asked = { appId: app.id, from: earlier, till: query.till };
    await db.query('UPDATE file_jobs SET asked_hash = $2 WHERE identifier = $1', [
      /fil_\w+/.exec(links[0]!)![0],
      secrets.lookup(JSON.stringify(['shared file', entityId, 'campaign_logs', 'csv', asked])),
    ]);
    expect(await reportOf({ ...query, from: earlier })).toEqual(links);
  });

  it('refuse wrong input by the field', async () => {
    const good = { apps: app.identifier, ...window(at(0), at(HOUR)) };
    const refusal = async (others: Record<string, string | undefined>) => {
      const query = Object.entries({ ...good, ...others }).filter(
        (pair): pair is [string, string] => pair[1] !== undefined,
      );
      const { status, code, element, error_message: message } = await ask(Object.fromEntries(query));
      return [status, code, element, message];
    };
    const days = (count: number) => plain(new Date(Date.now() - count * 24 * HOUR));
    for (const [others, element, message] of [
      [{ apps: undefined }, 'apps', /^apps: /],
      [{ apps: ',' }, 'apps', /^apps: /],
      [{ apps: Array.from({ length: 101 }, (_, nth) => `app_${nth}`).join() }, 'apps', /at most 100/],
      [{ from: undefined }, 'from', /^from: /],
      [{ till: undefined }, 'till', /^till: /],
      [{ from: 'yesterday' }, 'from', /must be a date and time in ISO 8601/],
      [{ till: '2026-02-30 10:00:00' }, 'till', /ISO 8601/],
      [{ from: plain(at(HOUR)), till: plain(at(0)) }, 'from', /must not lie after till/],
      [{ till: days(-1) }, 'till', /must lie in the past/],
      [{ from: days(31) }, 'from', /at most 30 days back/],
    ] as const)
      expect(await refusal(others)).toEqual([400, 'bad_request', element, expect.stringMatching(message)]);
    expect(await refusal({ apps: `${app.identifier},app_no` })).toEqual([404, 'not_found', 'apps', 'App not found']);
  });
});
