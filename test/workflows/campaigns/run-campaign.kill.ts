import { insertSampleApp } from '../../harness/apps/apps.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { insertManyDevices } from '../../harness/sends/campaigns.ts';

const USERS = 20_000;

type Run = { world: World; campaign: string; appId: number };

export const runCampaignUnderKill: FlowUnderKill<Run> = {
  name: `a classic campaign to ${USERS} people`,
  boundaries: [
    { name: 'campaign: claimed', hit: 1 }, { name: 'campaign: before a portion commits', hit: 2 },
    { name: 'campaign: after a portion committed', hit: 1 }, { name: 'campaign: audience is there', hit: 1 },
    { name: 'send: before a portion commits', hit: 2 }, { name: 'send: planned', hit: 3 },
  ],
  async begin({ store, app: server }) {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.campaign');
    // Every fifth user has two devices.
    await insertManyDevices(store.db, world.entity.id, app.id, `
      SELECT n, 'user ' || n AS user_id, kind || n AS device_id FROM generate_series(1, ${USERS}) n
      CROSS JOIN LATERAL (SELECT 'phone ' AS kind UNION ALL SELECT 'tablet ' WHERE n % 5 = 0) k`);
    const call = async <R>(method: 'POST' | 'PUT', url: string, payload: object = {}) => {
      const reply = await server.inject({ method, url, headers: { authorization: `Token ${world.token}` }, payload });
      return reply.json<{ result: R }>().result;
    };
    const { campaign_id: campaign } = await call<{ campaign_id: string }>('POST', '/api/campaign', {
      name: 'News', type: 'classic', source: 'API', app_id: app.identifier, includes_push: true, includes_inapp: false, start_date: 'now',
      params: { push_message: 'News' },
    });
    await call('PUT', `/api/campaign/${campaign}/launch`);
    return { world, campaign, appId: app.id };
  },
  progress: async ({ store: { db } }, { appId }) =>
    (await db.query<{ count: number }>('SELECT count(*) AS count FROM attempts WHERE app_id = $1', [appId])).rows[0]!.count,
  size: USERS * 1.2,
  hasEnded: async (stack, run) => (await state(stack, run)).ended_at !== null,
  async outcome(stack, run) {
    const { status, reach, failure } = await state(stack, run);
    const { rows } = await stack.store.db.query(
      `SELECT (SELECT count(*) FROM (SELECT DISTINCT user_id, device_id FROM attempts WHERE app_id = $1) a) AS devices,
         (SELECT count(*) FROM attempts WHERE app_id = $1) AS attempts, (SELECT count(*) FROM campaign_audience) AS left,
         (SELECT count(*) FROM devices WHERE app_id = $1 AND push_token IS NULL) AS gone,
         (SELECT md5(string_agg(concat_ws(' ', user_id, device_id, code), ',' ORDER BY user_id, device_id))
          FROM attempts WHERE app_id = $1) AS content`, [run.appId]);
    return { status, reach, failure, ...rows[0] };
  },
};

type State = { status: string; reach: object; failure: string | null; ended_at: number | null };

async function state({ app }: Stack, { world, campaign }: Run): Promise<State> {
  const reply = await app.inject({ method: 'GET', url: `/api/campaign/${campaign}`, headers: { authorization: `Token ${world.token}` } });
  return reply.json<{ result: State }>().result;
}
