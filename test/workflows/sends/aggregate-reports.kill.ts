import { buffer } from 'node:stream/consumers';
import { reportsWorkflowId } from '../../../domain/jobs/workflow-id.ts';
import { write } from '../../../store/core/database.ts';
import { updateOutcomeDelivery } from '../../../store/sends/outcome-deliveries.ts';
import { insertConnection } from '../../../store/syncs/connections.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { WorkflowNotFoundError } from '@temporalio/client';

/** Attempts of 40 days: most are too old to be kept, and those of the last ten minutes are for the app's receiver. */
const ATTEMPTS = 12_000;
const SECRET = 'zqreportssecret-0001';
rememberSecret(SECRET);

type Run = { world: World; received: Map<string, string> };

export const aggregateReportsUnderKill: FlowUnderKill<Run> = {
  name: `the count of ${ATTEMPTS} attempts`,
  boundaries: [
    { name: 'reports: between days', hit: 3 },
    { name: 'reports: before counted until', hit: 1 },
    { name: 'reports: between days of control groups', hit: 2 },
    { name: 'reports: between deletions', hit: 1 },
    { name: 'outcomes: noted', hit: 2 },
    { name: 'outcomes: sent', hit: 1 },
  ],
  async begin({ store, temporal }) {
    const receiver = await httpSource();
    const received = new Map<string, string>();
    const url = receiver.serve(
      '/outcomes',
      (request, response) =>
        void buffer(request).then((bytes) => {
          const { batch_id: id, outcomes } = JSON.parse(bytes.toString()) as {
            batch_id: string;
            outcomes: { device_id: string }[];
          };
          const devices = outcomes.map(({ device_id: device }) => device).join(' ');
          // The same batch has the same outcomes, as often as it comes.
          received.set(id, received.has(id) && received.get(id) !== devices ? 'another content' : devices);
          response.writeHead(204).end();
        }),
    );
    const world = await makeWorld(store);
    const { db, secrets } = store;
    const app = await insertSampleApp(db, world.entity.id, 'com.example.counts');
    const campaign = await insertSampleCampaign(db, world.entity.id, app.id);
    const connection = (await insertConnection(db, secrets, world.entity.id, {
      name: 'outcomes',
      connector: 'webhook',
      createdBy: world.user.id,
      settings: { url, batch_records: 50 },
      secretSettings: { secret: SECRET },
    }))!;
    await write(db, async (tx) => {
      await tx.query('UPDATE apps SET outcomes_connection = $2 WHERE id = $1', [app.id, connection.identifier]);
      await updateOutcomeDelivery(tx, world.entity.id, app.id, true);
      await tx.query(`UPDATE outcome_deliveries SET delivered_at = now() - interval '1 hour'`);
      await tx.query(
        `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id, created_at, settled_at, opened_at, provider)
         SELECT $1, $2, $3, 'push', 'settled', CASE n % 7 WHEN 0 THEN 'OPT_OUT' WHEN 1 THEN 'CONTROL_GROUP' ELSE 'PUSH_SENT' END,
           'device ' || n, 'user ' || n % 100, at, at, CASE n % 5 WHEN 0 THEN at END, 'sandbox'
         FROM (SELECT n, CASE WHEN n <= 200 THEN now() - interval '10 minutes' ELSE now() - (n % 40 + 1) * interval '1 day' END AS at
           FROM generate_series(1, ${ATTEMPTS}) n) made`,
        [world.entity.id, campaign.id, app.id],
      );
    });
    // As it was counted when those were new that are old now.
    await db.query(
      `INSERT INTO report_rollups (entity_id, counted_until, kept_since)
       VALUES ($1, '-infinity', (now() - interval '60 days')::date)`,
      [world.entity.id],
    );
    await temporal.workflow.start('aggregateReports', {
      workflowId: reportsWorkflowId(world.entity.id),
      taskQueue: 'flows',
      args: [world.entity.id],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
    return { world, received };
  },
  async progress(stack, run) {
    const {
      rows: [row],
    } = await stack.store.db.query<{ counted: number }>(
      'SELECT coalesce(sum(attempts), 0)::integer AS counted FROM campaign_days WHERE entity_id = $1',
      [run.world.entity.id],
    );
    return row!.counted;
  },
  size: ATTEMPTS,
  hasEnded,
  async outcome(stack, { world, received }) {
    const { rows } = await stack.store.db.query(
      `SELECT (SELECT count(*) FROM attempts WHERE entity_id = $1) AS kept,
         (SELECT jsonb_agg(jsonb_build_array(current_date - day, code, attempts, opened) ORDER BY day, code) FROM campaign_days
          WHERE entity_id = $1) AS days,
         (SELECT jsonb_agg(jsonb_build_array(current_date - day, outcome, attempts) ORDER BY day, outcome)
          FROM push_outcome_days WHERE entity_id = $1) AS outcomes,
         (SELECT md5(string_agg(concat_ws(' ', person, sent, opened), ',' ORDER BY person)) FROM campaign_people
          WHERE entity_id = $1) AS people,
         (SELECT jsonb_agg(jsonb_build_array(current_date - day, people, devices, targeted_people, due_at > now()) ORDER BY day)
          FROM control_group_days WHERE entity_id = $1) AS held`,
      [world.entity.id],
    );
    return { ...rows[0], delivered: [...received.values()] };
  },
};

async function hasEnded({ temporal }: Stack, { world }: Run): Promise<boolean> {
  try {
    return (await temporal.workflow.getHandle(reportsWorkflowId(world.entity.id)).describe()).status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
