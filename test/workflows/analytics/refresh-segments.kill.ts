import { wakeSegments } from '../../../temporal/flows.ts';
import {
  fromCountry,
  inSegments,
  insertSampleSegment,
  insertSampleUsers,
  listMembers,
} from '../../harness/analytics/sample-segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';

const USERS = 6_000;

type Run = World & { segments: number[] };

export const refreshSegmentsUnderKill: FlowUnderKill<Run> = {
  name: 'a refresh of segments, one of which names the others',
  boundaries: [
    { name: 'segments: claimed', hit: 1 },
    { name: 'segments: before a portion commits', hit: 2 },
    { name: 'segments: after a portion committed', hit: 4 },
    { name: 'segments: counted', hit: 1 },
  ],
  async begin({ store, temporal }) {
    const world = await makeWorld(store);
    const { id: appId } = await insertSampleApp(store.db, world.entity.id, 'com.example.killed');
    await insertSampleUsers(
      store.db,
      world.entity.id,
      appId,
      Array.from({ length: USERS }, (_, number) => personId(number)),
    );
    const german = await insertSampleSegment(store.db, world, appId, { name: 'German', filters: fromCountry('DE') });
    const french = await insertSampleSegment(store.db, world, appId, { name: 'French', filters: fromCountry('FR') });
    const both = await insertSampleSegment(store.db, world, appId, {
      name: 'Both',
      filters: inSegments(german.identifier, french.identifier),
      uses: [german.id, french.id],
    });
    await wakeSegments(temporal, world.entity.id);
    return { ...world, segments: [german.id, french.id, both.id] };
  },
  async progress({ store }, { entity }) {
    const { rows } = await store.db.query<{ done: number }>(
      'SELECT count(*)::integer AS done FROM segment_members WHERE entity_id = $1',
      [entity.id],
    );
    return rows[0]!.done;
  },
  size: 2 * USERS,
  async hasEnded({ store }, { entity }) {
    const { rows } = await store.db.query('SELECT FROM segments WHERE entity_id = $1 AND snapshot_at IS NULL', [
      entity.id,
    ]);
    return rows.length === 0;
  },
  async outcome({ store }, { entity, segments }) {
    const { rows } = await store.db.query(
      `SELECT name, failure, people_count, people_total, people_push, reach_count, reach_optin, reach_token, reach_total FROM segments
       WHERE entity_id = $1 ORDER BY id`,
      [entity.id],
    );
    const members: string[][] = [];
    for (const id of segments) members.push(await listMembers(store.db, entity.id, id));
    return { rows, members };
  },
};
