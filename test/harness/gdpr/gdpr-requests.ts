import type { Queryable } from '../../../store/core/database.ts';
import type { GdprRequest, GdprRequestType } from '../../../store/gdpr/request-record.ts';
import { insertGdprRequest, type NewGdprRequest } from '../../../store/gdpr/requests.ts';
import type { World } from '../core/world.ts';

/** A request for users, as the API writes it down; nobody is mailed, unless told otherwise. */
export function requestByApi(
  db: Queryable,
  type: GdprRequestType,
  { entity, user }: Pick<World, 'entity' | 'user'>,
  userIds: readonly string[],
  more: Partial<NewGdprRequest> = {},
): Promise<GdprRequest> {
  return insertGdprRequest(db, entity.id, {
    type,
    source: 'api',
    appId: null,
    requester: { kind: 'user', id: user.id },
    skipEmail: true,
    emails: [],
    state: 'accepted',
    people: userIds.map((userId) => ({ userId, deviceId: null })),
    ...more,
  });
}

/** A deletion that somebody has asked for on a device, and that waits for approval. */
export function deletionByDevice(
  db: Queryable,
  entityId: number,
  person: NewGdprRequest['people'][number],
  more: Partial<NewGdprRequest> = {},
): Promise<GdprRequest> {
  return insertGdprRequest(db, entityId, {
    type: 'delete',
    source: 'sdk',
    appId: null,
    requester: { kind: 'device', id: null },
    skipEmail: false,
    emails: [],
    state: 'waiting',
    people: [person],
    ...more,
  });
}
