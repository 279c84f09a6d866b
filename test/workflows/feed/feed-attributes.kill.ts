import { write } from '../../../store/core/database.ts';
import { insertFeedRequest } from '../../../store/feed/feed-requests.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedValues, postFeed } from '../../harness/feed/feeds.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const REQUESTS = 400;
const VALUES = 50;
const PEOPLE = 300;

export const feedAttributesUnderKill: FlowUnderKill<World> = {
  name: 'a feed of 400 requests of 50 values',
  boundaries: [
    { name: 'feed: before a batch commits', hit: 1 },
    { name: 'feed: before a batch commits', hit: 9 },
    { name: 'feed: after a batch committed', hit: 6 },
  ],
  /** All but the last are accepted at once, so that batches are full; the last one comes in as any does. */
  async begin(stack) {
    const world = await makeWorld(stack.store);
    await write(stack.store.db, async (tx) => {
      for (let number = 1; number < REQUESTS; number += 1) {
        const values = mixedValues(VALUES, PEOPLE, number);
        const body = JSON.stringify(values);
        await insertFeedRequest(tx, world.entity.id, { sorId: world.sor.id, version: 3, valuesIn: VALUES, body });
      }
    });
    await postFeed(stack.app, world, mixedValues(VALUES, PEOPLE, REQUESTS));
    return world;
  },
  async progress({ store }, { entity }) {
    const { rows } = await store.db.query<{ done: number }>(
      'SELECT coalesce(sum(values_in), 0)::integer AS done FROM feed_requests WHERE entity_id = $1 AND done_at IS NOT NULL',
      [entity.id],
    );
    return rows[0]!.done;
  },
  size: REQUESTS * VALUES,
  async hasEnded(stack, world) {
    return (await this.progress(stack, world)) === this.size;
  },
  async outcome(stack, world) {
    const { rows: requests } = await stack.store.db.query(
      `SELECT values_in, values_ok, values_ignored, values_failed, body FROM feed_requests
       WHERE entity_id = $1 ORDER BY id`,
      [world.entity.id],
    );
    const { rows: errors } = await stack.store.db.query(
      `SELECT line, error_type, outcome, stage, message, customer_id, attribute_key, raw FROM import_errors
       WHERE entity_id = $1 ORDER BY import_id, line`,
      [world.entity.id],
    );
    return { requests, errors, values: await importedValues(stack, world) };
  },
};
