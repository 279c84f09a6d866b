import { describe, expect, it, onTestFinished } from 'vitest';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { survivesKills, UNDER_KILL } from '../../harness/jobs/under-kill.ts';
import {
  type CampaignRun,
  dynamicCampaignUnderKill,
  launchToMany,
  runCampaignUnderKill,
  sentTo,
} from './run-campaign.kill.ts';

survivesKills(runCampaignUnderKill);
survivesKills(dynamicCampaignUnderKill);

describe('a worker that was thought lost in the middle of an audience, and lives on', () => {
  const stack = useStack(UNDER_KILL);
  const AUDIENCE = { classic: 'campaign_audience', dynamic: 'campaign_members' };
  const CHANGES = {
    // Its in-app messages stay: it sends on after its audience is through.
    classic: {
      includes_inapp: true,
      params: { push_message: 'News', inapp: 'native', message_title: 'News', message_content: 'x', message_btn: 'OK' },
    },
    dynamic: {
      type: 'dynamic',
      end_date: Math.floor(Date.now() / 1_000) + 86_400,
      recurrence: { day_of_week: [0, 1, 2, 3, 4, 5, 6] },
      notif_limit: { maximum: 2 },
    },
  };

  it.each(['classic', 'dynamic'] as const)('adds nothing to what another has found for a %s campaign', async (type) => {
    const {
      store: { db },
    } = stack;
    const lost = stack.startWorker({
      kill: { boundary: 'campaign: after a portion committed', hit: 1, signal: 'SIGSTOP' },
    });
    onTestFinished(() => lost.kill());
    const run = await launchToMany(stack, CHANGES[type]);
    await waitFor(
      'its first portion',
      async () =>
        (await db.query(`SELECT FROM ${AUDIENCE[type]} WHERE entity_id = $1 LIMIT 1`, [run.world.entity.id]))
          .rowCount === 1,
    );
    const other = stack.startWorker();
    onTestFinished(() => other.stop());
    const sent = await waitFor('what the other sends', () => allSent(run));
    // It looks no more meanwhile; this person it has found since.
    const before = await waitFor(
      'the end of its look',
      async () =>
        (
          await db.query<{ looks: number; late: number }>(
            `WITH run AS (
         UPDATE sends SET next_look_at = next_look_at + interval '1 day'
         WHERE identifier = $1 AND (next_look_at > now() + interval '5 seconds' OR audience_at IS NOT NULL) RETURNING *),
       late AS (
         INSERT INTO campaign_members (entity_id, send_id, person, is_member, notified)
         SELECT entity_id, id, 'uuser 9000 and a half', true, 1 FROM run WHERE looks > 0 RETURNING 1)
       SELECT looks, (SELECT count(*) FROM late) AS late FROM run`,
            [run.campaign],
          )
        ).rows[0],
    );
    expect(before.late).toBe(type === 'dynamic' ? 1 : 0);
    process.kill(lost.pid, 'SIGCONT');
    await isIdle(lost.pid);
    expect(await sentTo(stack, run)).toEqual(sent);
    const {
      rows: [after],
    } = await db.query(
      `SELECT looks, (
         SELECT count(*) FROM campaign_members m WHERE m.send_id = s.id AND m.is_member AND m.person LIKE '% and a half') AS late
       FROM sends s WHERE identifier = $1`,
      [run.campaign],
    );
    expect(after).toEqual(before);
  });

  async function allSent(run: CampaignRun) {
    const sent = (await sentTo(stack, run)) as { devices: number; attempts: number; left: number };
    return sent.devices > 0 && sent.left === 0 && sent;
  }

  /** Until it was seen doing nothing several times. */
  async function isIdle(pid: number): Promise<void> {
    let seen = 0;
    await waitFor('the worker to have nothing to do', async () => {
      const { rowCount } = await stack.store.db.query(
        `SELECT FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'`,
        [`test-worker-${pid}`],
      );
      seen = rowCount === 0 ? seen + 1 : 0;
      return seen > 10;
    });
  }
});
