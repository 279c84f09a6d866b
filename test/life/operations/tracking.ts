import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import {
  about,
  type Answer,
  type Call,
  call,
  type Draw,
  type LifeOperation,
  type LifeOperations,
  mustHold,
  read,
} from '../life-operation.ts';
import type { Person } from '../people.ts';
import { noteAccepted, noteSent } from '../traits.ts';

/** What SDKs send of people, and what is shown of it. */

const EVENTS = ['Opened', 'Viewed', 'Bought'];
const RANKS = [3, 1.5, true, '2026-11-03', '2026-11-03T10:00:00.000Z', 'high', '', null, ['a', 'b'], { of: 'club' }];
type SdkCall = Record<string, unknown>;

function contextOf(draw: Draw, person: Person): object {
  return {
    device: { id: person.deviceId, token: person.pushToken, model: 'iPhone17,1' },
    os: { name: 'iOS', version: '18.1' },
    locale: 'de-CH',
    timezone: 'Europe/Zurich',
    location: { city: draw.value(person), latitude: 47 + draw.int(1_000) / 1e4, longitude: 8.5 },
  };
}

function stamped(draw: Draw, person: Person, sdkCall: SdkCall): SdkCall {
  return { messageId: randomUUID(), timestamp: new Date().toISOString(), context: contextOf(draw, person), ...sdkCall };
}

const TYPES: Record<string, (draw: Draw, person: Person) => SdkCall> = {
  track: (draw, person) => ({
    type: 'track',
    userId: person.userId,
    event: draw.of(EVENTS),
    properties: { note: draw.value(person), price: draw.int(100) },
  }),
  // Also calls that come late, and traits of which the first value guesses a type that later ones widen.
  identify: (draw, person) => ({
    type: 'identify',
    userId: person.userId,
    timestamp: new Date(Date.now() - draw.of([0, 60_000, 3_600_000])).toISOString(),
    traits: {
      email: person.userId,
      hobby: draw.value(person),
      rank: draw.of(RANKS),
      score: draw.of(RANKS),
      tags: draw.of(RANKS),
    },
  }),
  page: (draw, person) => ({
    type: 'page',
    userId: person.userId,
    name: 'Cart',
    properties: { note: draw.value(person) },
  }),
  screen: (draw, person) => ({
    type: 'screen',
    userId: person.userId,
    name: 'Cart',
    properties: { note: draw.value(person) },
  }),
  group: (draw, person) => ({
    type: 'group',
    userId: person.userId,
    groupId: 'acme',
    traits: { note: draw.value(person) },
  }),
  alias: (_draw, person) => ({ type: 'alias', userId: person.userId, previousId: person.alias }),
};

/**
 * Kinds that only a batch has: somebody unknown, an error that quotes its user, a call without an event, and a logout.
 */
const OTHERS: ((draw: Draw, person: Person) => SdkCall)[] = [
  (draw, { deviceId }) => ({ type: 'track', anonymousId: deviceId, event: draw.of(EVENTS) }),
  (draw, person) => ({
    type: 'track',
    userId: person.alias,
    event: draw.of(EVENTS),
    properties: { note: draw.value(person) },
  }),
  (draw, person) => ({
    type: 'track',
    userId: person.userId,
    event: 'Application Crashed',
    properties: {
      exception_type: 'Cart.Empty',
      message: `${person.userId} has no ${draw.value(person)}`,
      stack: ['Pay.now'],
    },
  }),
  (draw, person) => ({ type: 'track', userId: person.userId, properties: { note: draw.value(person) } }),
  (_draw, person) => ({ type: 'track', userId: person.userId, event: 'millrace_logout' }),
];

function drawCall(draw: Draw): SdkCall {
  const person = draw.person();
  return stamped(draw, person, draw.of([...Object.values(TYPES), TYPES.track!, TYPES.track!, ...OTHERS])(draw, person));
}

type Ingested = { accepted: number; duplicates: number; refused: { index: number }[] };

function mustCountAll(answer: Answer, { entity }: Draw, { body }: Call): void {
  const { accepted, duplicates, refused } = answer.result as Ingested;
  const { batch: sent = [body as SdkCall] } = body as { batch?: SdkCall[] };
  mustHold(
    sent.length === accepted + duplicates + refused.length,
    `${sent.length} calls sent, but ${accepted} accepted + ${duplicates} duplicates + ${refused.length} refused`,
  );
  noteAccepted(
    entity,
    sent.filter((_, ordinal) => !refused.some(({ index }) => index === ordinal)),
  );
}

const batch: LifeOperation = {
  call(draw) {
    const calls = Array.from({ length: 1 + draw.int(12) }, () => drawCall(draw));
    noteSent(draw.entity, calls);
    return { body: { batch: calls } };
  },
  expects: 'ok',
  done: mustCountAll,
};

const single = (type: string): LifeOperation => ({
  call(draw) {
    const person = draw.person();
    const sdkCall = stamped(draw, person, TYPES[type]!(draw, person));
    noteSent(draw.entity, [sdkCall]);
    return { body: sdkCall };
  },
  done: mustCountAll,
});

/** As an app's server vouches for its user. */
function userToken({ entity }: Draw, { userId }: Person): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  return new SignJWT({ sub: userId, exp }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(entity.app.tokenKey));
}

export const trackingOperations: LifeOperations = {
  sendBatch: { ...batch, weight: 10 },
  sendBatchShort: batch,
  sendImportedBatch: batch,
  ...Object.fromEntries(
    Object.keys(TYPES).flatMap((type) => {
      const name = `send${type[0]!.toUpperCase()}${type.slice(1)}`;
      return [
        [name, single(type)],
        [`${name}Short`, { ...single(type), weight: 0.3 }],
      ];
    }),
  ),
  viewSdkSettings: call(({ entity: { app } }) => ({ params: { write_key: app.apiKey } }), { expects: 'ok' }),
  listInappMessages: call((draw) => ({ query: { deviceId: draw.person().deviceId } })),
  verifyDeviceUser: {
    async call(draw) {
      const person = draw.person();
      return {
        body: { deviceId: person.deviceId, userToken: await userToken(draw, person), pushToken: person.pushToken },
      };
    },
  },
  requestPrivacyFromDevice: {
    async call(draw) {
      const person = draw.person();
      const token = draw.chance(0.5) ? { userToken: await userToken(draw, person) } : {};
      return { body: { type: draw.chance(0.7) ? 'access' : 'delete', deviceId: person.deviceId, ...token } };
    },
    done({ result }, { entity }) {
      const { identifier, state } = result as { identifier: string; state: string };
      entity.add(state === 'waiting' ? 'waiting request' : 'request', { id: identifier });
    },
  },
  listPrivacyRequests: read('app'),
  listRefusedCalls: read('app'),
  listLiveCalls: read('app'),
  countCalls: read('app', () => ({ query: { days: 30 } })),
  listCrashes: {
    ...read('app'),
    weight: 2,
    done({ result }, { entity }) {
      for (const { identifier } of (result as { items: { identifier: string }[] }).items)
        entity.add('crash', { id: identifier });
    },
  },
  listCrashOccurrences: about('crash'),
  viewCrash: about('crash'),
  // Errors of its kind that come again make another one.
  deleteCrash: {
    weight: 0.2,
    call(draw) {
      const item = draw.spare('crash');
      item.isGone = true;
      return { item, params: { app_identifier: draw.entity.app.identifier, crash_identifier: item.id } };
    },
  },
  // A definition that is gone comes again with its next event, under another id, which the walk does not learn.
  deleteEventDefinition: {
    weight: 0.1,
    call(draw) {
      const item = draw.spare('event definition');
      item.isGone = true;
      return { item, params: { app_identifier: draw.entity.app.identifier, event_id: item.id } };
    },
  },
  listEventDefinitions: read('app'),
  updateEventDefinition: about('event definition', (draw, { id }) => ({
    params: { app_identifier: draw.entity.app.identifier, event_id: id },
    body: { display_name: draw.name('Shown'), goal: draw.chance(0.5) },
  })),
};
