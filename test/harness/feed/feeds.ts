import type { FastifyInstance } from 'fastify';
import { type FeedRequest, findFeedRequest } from '../../../store/feed/feed-requests.ts';
import { type StoredImportError, streamImportErrors } from '../../../store/imports/import-errors.ts';
import type { TestStore } from '../core/database.ts';
import { personId } from '../core/people.ts';
import { waitFor } from '../core/wait.ts';
import type { World } from '../core/world.ts';

export type GivenValue = Record<string, unknown>;
type PostOptions = { version?: 2 | 3; headers?: Record<string, string> };

/** Posts values with the SoR's key, as JSON; a text goes as it is in the place of the values. */
export function sendFeed(
  app: FastifyInstance,
  { sor, apiKey }: Pick<World, 'sor' | 'apiKey'>,
  values: GivenValue | GivenValue[] | string,
  { version = 3, headers = {} }: PostOptions = {},
) {
  const json = typeof values === 'string' ? values : JSON.stringify(values);
  return app.inject({
    method: 'POST',
    url: '/api/attribute_values',
    headers: {
      accept: version === 3 ? 'application/vnd.svc.v3' : 'application/json',
      'content-type': 'application/json',
      ...headers,
    },
    payload: `{"sor":"${sor.identifier}","api_key":"${apiKey}","customer_attribute_values":${json}}`,
  });
}

/** The same; returns the request's identifier. */
export async function postFeed(...call: Parameters<typeof sendFeed>): Promise<string> {
  const reply = await sendFeed(...call);
  if (reply.statusCode !== 200) throw new Error(`the feed was refused: ${reply.body}`);
  return (reply.json() as { result: { requestId: string } }).result.requestId;
}

/** Waits until a request is merged. */
export function feedDone(
  { db }: TestStore,
  { entity }: Pick<World, 'entity'>,
  requestId: string,
): Promise<FeedRequest> {
  return waitFor(`the end of request ${requestId}`, async () => {
    const request = await findFeedRequest(db, entity.id, requestId);
    return request?.doneAt ? request : null;
  });
}

export async function feedErrors(
  { db }: TestStore,
  { entity }: Pick<World, 'entity'>,
  requestId: string,
): Promise<StoredImportError[]> {
  const { id } = (await findFeedRequest(db, entity.id, requestId))!;
  return Array.fromAsync(streamImportErrors(db, entity.id, id));
}

/** Values for `people` people, of every kind that a feed can bring, good and bad; the same for the same `seed`. */
export function mixedValues(count: number, people: number, seed: number): GivenValue[] {
  return Array.from({ length: count }, (_, index) => {
    const number = seed * count + index;
    const customer_id = personId((number * 7) % people);
    switch (number % 9) {
      case 0:
        return { customer_id, attribute_key: 'tags', attribute_value: `t${number % 5}`, action_type: 'ADD' };
      case 1:
        return { customer_id, attribute_key: 'tags', attribute_value: `t${number % 7}`, action_type: 'REMOVE' };
      case 2:
        return { customer_id, attribute_key: 'score', attribute_value: number };
      case 3:
        return { customer_id, attribute_key: 'plan', attribute_value: null };
      case 4:
        return { customer_id, attribute_key: 'vip', attribute_value: 'perhaps' };
      case 5:
        return { customer_id, attribute_key: 'unknown', attribute_value: 1 };
      default:
        return { customer_id, attribute_key: 'plan', attribute_value: `plan ${number}` };
    }
  });
}
