import { countAttempts as countDays } from '../../../activities/sends/aggregate-reports.ts';
import type { CampaignResults } from '../../../api/campaigns/campaign-results.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { insertManyDevices } from '../../harness/sends/campaigns.ts';

/** Two portions of an audience. */
const USERS = 12_000;

export type CampaignRun = { world: World; campaign: string; appId: number };

export const runCampaignUnderKill: FlowUnderKill<CampaignRun> = {
  name: `a classic campaign to ${USERS} people`,
  boundaries: [
    { name: 'campaign: claimed', hit: 1 },
    { name: 'campaign: before a portion commits', hit: 2 },
    { name: 'campaign: after a portion committed', hit: 1 },
    { name: 'campaign: audience is there', hit: 1 },
    { name: 'send: before a portion commits', hit: 2 },
    { name: 'send: planned', hit: 3 },
  ],
  begin: (stack) => launchToMany(stack),
  progress: countAttempts,
  size: USERS * 1.2,
  hasEnded: async (stack, run) => (await state(stack, run)).ended_at !== null,
  async outcome(stack, run) {
    const { status, reach, failure } = await state(stack, run);
    return { status, reach, failure, ...(await sentTo(stack, run)), ...(await countedResults(stack, run)) };
  },
};

/** So many left the audience before. */
const LEFT = 1_000;

export const dynamicCampaignUnderKill: FlowUnderKill<CampaignRun> = {
  name: `a dynamic campaign to ${USERS} people, half of them in its audience`,
  boundaries: [
    { name: 'campaign: claimed', hit: 1 },
    { name: 'campaign: before a portion commits', hit: 2 },
    { name: 'campaign: after a portion committed', hit: 1 },
    { name: 'campaign: looked', hit: 1 },
    { name: 'send: before a portion commits', hit: 2 },
    { name: 'send: planned', hit: 3 },
  ],
  async begin(stack) {
    const {
      store: { db },
      temporal,
    } = stack;
    const soon = Math.floor(Date.now() / 1_000) + 3_600;
    const run = await launchToMany(stack, {
      type: 'dynamic',
      start_date: soon,
      end_date: soon + 86_400,
      recurrence: { day_of_week: [0, 1, 2, 3, 4, 5, 6] },
      notif_limit: { maximum: 2 },
    });
    // As after an earlier look: of four users one is in the audience, two were, one of them with all that one may get;
    // one is new.
    await db.query(
      `WITH people AS (
         SELECT 'uuser ' || n, n % 4 = 1, CASE n % 4 WHEN 3 THEN 2 ELSE 1 END FROM generate_series(1, ${USERS}) n WHERE n % 4 <> 0
         UNION ALL SELECT 'uformer ' || n, true, 1 FROM generate_series(1, ${LEFT}) n)
       INSERT INTO campaign_members (entity_id, send_id, person, is_member, notified, last_notified_at)
       SELECT s.entity_id, s.id, p.*, now() - interval '1 day' FROM people p, sends s WHERE s.identifier = $1`,
      [run.campaign],
    );
    await db.query('UPDATE campaigns SET start_date = now() WHERE identifier = $1', [run.campaign]);
    await db.query('UPDATE sends SET send_at = now() WHERE identifier = $1', [run.campaign]);
    await temporal.workflow.getHandle(`campaign/${run.campaign}`).signal('sendCanceled');
    return run;
  },
  progress: countAttempts,
  // The first half of it: what is left must still be under way when the kill comes.
  size: (USERS / 4) * 1.2,
  // It goes on until its end, and has nothing more to do.
  async hasEnded({ store: { db } }, { campaign, appId }) {
    const { rowCount } = await db.query(
      `SELECT FROM sends s WHERE s.identifier = $1 AND s.looks > 0
         AND NOT EXISTS (SELECT FROM campaign_audience a WHERE a.send_id = s.id)
         AND NOT EXISTS (SELECT FROM attempts a WHERE a.app_id = $2 AND a.state <> 'settled')`,
      [campaign, appId],
    );
    return rowCount === 1;
  },
  async outcome(stack, run) {
    const { status, failure } = await state(stack, run);
    const { rows: members } = await stack.store.db.query(
      `SELECT left(person, 7) AS kind, is_member, notified, count(*) AS people FROM campaign_members
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    );
    return { status, failure, members, ...(await sentTo(stack, run)) };
  },
};

/** A campaign to devices of many users; every fifth of them has two, and every second a value that its text takes. */
export async function launchToMany({ store, app: server }: Stack, change: object = {}): Promise<CampaignRun> {
  const world = await makeWorld(store);
  const app = await insertSampleApp(store.db, world.entity.id, 'com.example.campaign');
  await insertManyDevices(
    store.db,
    world.entity.id,
    app.id,
    `
    SELECT n, 'user ' || n AS user_id, kind || n AS device_id FROM generate_series(1, ${USERS}) n
    CROSS JOIN LATERAL (SELECT 'phone ' AS kind UNION ALL SELECT 'tablet ' WHERE n % 5 = 0) k`,
  );
  await store.db.query(
    `INSERT INTO attribute_values (entity_id, sor_id, customer_type, customer_id, attribute_id, changed_at, string_value)
     SELECT $1, $2, 0, 'user ' || n, $3, now(), 'plan ' || n FROM generate_series(2, ${USERS}, 2) n`,
    [world.entity.id, world.sor.id, world.attributes.plan!.id],
  );
  const call = async <R>(method: 'POST' | 'PUT', url: string, payload: object = {}) => {
    const reply = await server.inject({ method, url, headers: { authorization: `Token ${world.token}` }, payload });
    return reply.json<{ result: R }>().result;
  };
  const { campaign_id: campaign } = await call<{ campaign_id: string }>('POST', '/api/campaign', {
    name: 'News',
    type: 'classic',
    source: 'API',
    app_id: app.identifier,
    includes_push: true,
    includes_inapp: false,
    start_date: 'now',
    params: { push_message: `News for *@sor:${world.sor.identifier}.plan|you@*` },
    ...change,
  });
  await call('PUT', `/api/campaign/${campaign}/launch`);
  return { world, campaign, appId: app.id };
}

async function countAttempts({ store: { db } }: Stack, { appId }: CampaignRun): Promise<number> {
  return (await db.query<{ count: number }>('SELECT count(*) AS count FROM attempts WHERE app_id = $1', [appId]))
    .rows[0]!.count;
}

/** What the campaign has sent, and has left to send. */
export async function sentTo({ store: { db } }: Stack, { appId }: CampaignRun): Promise<object> {
  const {
    rows: [sent],
  } = await db.query<object>(
    `SELECT (SELECT count(*) FROM (SELECT DISTINCT user_id, device_id FROM attempts WHERE app_id = $1) a) AS devices,
       (SELECT count(*) FROM attempts WHERE app_id = $1) AS attempts, (SELECT count(*) FROM campaign_audience) AS left,
       (SELECT count(*) FROM devices WHERE app_id = $1 AND push_token IS NULL) AS gone,
       (SELECT md5(string_agg(concat_ws(' ', user_id, device_id, code, content -> 'push' ->> 'body'), ',' ORDER BY user_id, device_id))
        FROM attempts WHERE app_id = $1) AS content`,
    [appId],
  );
  return sent!;
}

/** The results, counted now. */
async function countedResults({ app, store: { db } }: Stack, { world, campaign }: CampaignRun): Promise<object> {
  await countDays({ db, boundary: () => {} }, world.entity.id);
  const reply = await app.inject({
    method: 'GET',
    url: `/api/campaigns/${campaign}/results`,
    headers: { authorization: `Token ${world.token}` },
  });
  const { total, codes } = reply.json<{ result: CampaignResults }>().result;
  return { total, codes };
}

type State = { status: string; reach: object; failure: string | null; ended_at: number | null };

async function state({ app }: Stack, { world, campaign }: CampaignRun): Promise<State> {
  const reply = await app.inject({
    method: 'GET',
    url: `/api/campaign/${campaign}`,
    headers: { authorization: `Token ${world.token}` },
  });
  return reply.json<{ result: State }>().result;
}
