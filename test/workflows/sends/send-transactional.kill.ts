import { insertSampleApp } from '../../harness/apps/apps.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { insertManyDevices, insertSampleCampaign, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';

const MESSAGES = 12_000;

type Run = { world: World; requestId: string; appId: number };

export const sendTransactionalUnderKill: FlowUnderKill<Run> = {
  name: `a send of ${MESSAGES} messages through the sandbox`,
  boundaries: [
    { name: 'send: claimed', hit: 1 },
    { name: 'send: before a portion commits', hit: 2 },
    { name: 'send: planned', hit: 2 },
  ],
  async begin({ store, app: server }) {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.sends');
    // Every fifth user has two devices, every seventh none.
    await insertManyDevices(
      store.db,
      world.entity.id,
      app.id,
      `
      SELECT n, 'user ' || n AS user_id, kind || 'user ' || n AS device_id FROM generate_series(1, ${MESSAGES}) n
      CROSS JOIN LATERAL (SELECT 'phone of ' AS kind UNION ALL SELECT 'tablet of ' WHERE n % 5 = 0) k WHERE n % 7 <> 0`,
    );
    const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id, {
      params: { ...PUSH_PARAMS, push_message: '*@n@*' },
    });
    const messages = Array.from({ length: MESSAGES }, (_, n) => ({
      user: `user ${n + 1}`,
      ...(n % 13 !== 0 && { templateVars: { n } }),
    }));
    const reply = await server.inject({
      method: 'POST',
      url: '/api/transac',
      headers: { authorization: `Token ${world.token}` },
      payload: { campaignKey: [campaign.identifier], messages },
    });
    return { world, appId: app.id, requestId: reply.json<{ result: { requestId: string } }>().result.requestId };
  },
  progress: async (stack, run) => (await state(stack, run)).processed,
  size: MESSAGES,
  hasEnded: async (stack, run) => (await state(stack, run)).ended_at !== null,
  async outcome(stack, run) {
    const { state: ended, processed, codes } = await state(stack, run);
    const { rows } = await stack.store.db.query(
      `SELECT (SELECT count(*) FROM (SELECT DISTINCT user_id, device_id FROM attempts WHERE app_id = $1) a) AS devices,
         (SELECT count(*) FROM attempts WHERE app_id = $1) AS attempts, (SELECT count(*) FROM send_messages) AS messages,
         (SELECT count(*) FROM devices WHERE app_id = $1 AND push_token IS NULL) AS gone,
         (SELECT md5(string_agg(concat_ws(' ', user_id, device_id, code, content -> 'push' ->> 'body'), ',' ORDER BY user_id, device_id))
          FROM attempts WHERE app_id = $1) AS content`,
      [run.appId],
    );
    return { ended, processed, codes, ...rows[0] };
  },
};

type State = { state: string; processed: number; ended_at: string | null; codes: Record<string, number> };

async function state({ app }: Stack, { world, requestId }: Run): Promise<State> {
  const reply = await app.inject({
    method: 'GET',
    url: `/api/transac/${requestId}`,
    headers: { authorization: `Token ${world.token}` },
  });
  return reply.json<{ result: State }>().result;
}
