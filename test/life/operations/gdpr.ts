import {
  about,
  type Answer,
  type Call,
  call,
  type Draw,
  list,
  type LifeOperation,
  type LifeOperations,
  make,
  mustHold,
  remove,
} from '../life-operation.ts';
import { PEOPLE } from '../people.ts';

/** Requests of people for their data and its deletion, holds, aliases and readmission. */

function noteRequest({ result }: Answer, { entity }: Draw, { body }: Call): void {
  const url = new URL((result as { callback_url: string }).callback_url);
  entity.add('request', { id: url.searchParams.get('request_id')! });
  if (!url.pathname.endsWith('/delete')) return;
  for (const user of (body as { users: string[] }).users) entity.erasures.set(user, 'asked');
}

const asking: LifeOperation = {
  call: (draw) => ({ body: { users: draw.some(PEOPLE, 2).map(({ userId }) => userId), skip_email: draw.chance(0.5) } }),
  expects: 'ok',
  done: noteRequest,
};

const byUser = (draw: Draw) => ({ query: { user_id: draw.person().userId } });
const byRequest = (): LifeOperation => about('request', (_draw, { id }) => ({ query: { request_id: id } }));

type Shown = { progress: { survivors: Record<string, number> }; state: string; type: string };

/** One that is treated has nothing left. */
function checkRequest({ result }: Answer, _draw: Draw, { item }: Call): void {
  const {
    state,
    type,
    progress: { survivors },
  } = result as Shown;
  mustHold(
    state !== 'treated' || type !== 'delete' || Object.keys(survivors).length === 0,
    `request ${item!.id} is treated, and names survivors: ${JSON.stringify(survivors)}`,
  );
}

/** The archives of an access request. */
function noteArchives({ result }: Answer, { entity }: Draw): void {
  for (const url of Object.values((result as { download_urls: Record<string, string | null> }).download_urls)) {
    if (url?.startsWith('http')) entity.add('archive', { id: new URL(url).pathname });
  }
}

const decide: LifeOperation = {
  call(draw) {
    const item = draw.spare('waiting request');
    item.isGone = true;
    return { item };
  },
  done(_, { entity }, { item }) {
    entity.items('waiting request').delete(item!);
    entity.add('request', { id: item!.id });
    // Whose request it was is not known here: no value is expected of anybody any more.
    for (const { userId } of PEOPLE) if (!entity.erasures.has(userId)) entity.erasures.set(userId, 'asked');
  },
};

export const gdprOperations: LifeOperations = {
  requestAccess: { ...asking, weight: 2 },
  requestDeletion: { ...asking, weight: 1 },
  viewAccessRequest: { ...byRequest(), done: noteArchives },
  viewDeletionRequest: byRequest(),
  listGdprRequests: list((draw) => ({ query: draw.of([{}, { type: 'delete' }, { state: 'waiting' }]) })),
  viewGdprRequest: { ...about('request'), weight: 4, done: checkRequest },
  approveGdprRequest: { ...decide, weight: 0.3 },
  declineGdprRequest: {
    ...decide,
    done(_, { entity }, { item }) {
      entity.items('waiting request').delete(item!);
    },
  },
  listGdprIdentifiers: about('request'),
  previewUserIdentifiers: call(byUser),
  listPersonalDataLocations: call(() => ({})),
  listGdprReceipts: about('request'),
  listReceiptsOfPerson: call(byUser),
  downloadArchive: about('archive', (_draw, { id }) => {
    const [request = '', ordinal = '', signature = ''] = id.split('/').slice(-3);
    return { params: { request_id: request, ordinal, signature } };
  }),
  createGdprHold: {
    ...make({ kind: 'hold' }, (draw) => ({ body: { user_id: draw.person().userId, reason: 'a dispute' } })),
    weight: 0.5,
  },
  releaseGdprHold: { ...remove('hold'), weight: 2 },
  listAliases: call(byUser),
  decideAlias: call((draw) => {
    const { userId, alias } = draw.person();
    return { body: { previous_id: alias, user_id: userId, decision: draw.of(['confirmed', 'refused', 'undecided']) } };
  }),
  readmitPeople: {
    weight: 0.5,
    call(draw) {
      const { userId, alias, deviceId } = draw.person();
      return { body: { users: [userId, alias], devices: [deviceId] } };
    },
    done(_, { entity }, { body }) {
      const [userId] = (body as { users: string[] }).users;
      if (entity.erasures.has(userId!)) entity.erasures.set(userId!, 'readmitted');
    },
  },
};
