import type { CallContext, CallEvent } from '../../../domain/tracking/call.ts';
import { holdEntity } from '../../../store/accounts/entities.ts';
import type { App } from '../../../store/apps/apps.ts';
import { type Tx, write } from '../../../store/core/database.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { type CallOutcome, insertCalls, INSERT_CALLS } from '../../../store/tracking/insert-calls.ts';
import { insertNewDefinitions } from '../../../store/tracking/event-definitions.ts';
import type { AppCall } from '../../../store/tracking/app-call.ts';
import { insertSampleApp } from '../apps/apps.ts';
import type { TestStore } from '../core/database.ts';
import { personId } from '../core/people.ts';
import { makeWorld, type World } from '../core/world.ts';

export type TrackedWorld = World & { app: App };

let apps = 0;

/** An entity with an app, whose traits go into the world's SoR. */
export async function makeTrackedWorld(store: TestStore): Promise<TrackedWorld> {
  const world = await makeWorld(store);
  apps += 1;
  return { ...world, app: await insertSampleApp(store.db, world.entity.id, `com.example.app${apps}`) };
}

const NO_CONTEXT: CallContext = {
  appNamespace: null,
  appVersion: null,
  sdkVersion: null,
  platform: null,
  osVersion: null,
  deviceType: null,
  deviceModel: null,
  idiom: null,
  carrier: null,
  country: null,
  lang: null,
  city: null,
  latitude: null,
  longitude: null,
  utcOffset: null,
  timezone: null,
  pushToken: null,
  optIn: null,
  optOut: null,
};

/** The start of what sample calls tell of. */
export const SAMPLE_START = Date.UTC(2026, 10, 3, 10);

export function sampleEvent(name: string, event: Partial<CallEvent> = {}): CallEvent {
  return { logType: 2, name, detail: null, fingerprint: null, crashTitle: null, transition: null, ...event };
}

export type SampleCall = Partial<Omit<AppCall, 'context'>> & {
  second?: number;
  context?: Partial<CallContext>;
};

/** A call of the world's app, by default a track of one device without a user, `second` seconds after SAMPLE_START. */
export function sampleCall({ app, sor }: TrackedWorld, { second = 0, context, ...call }: SampleCall): AppCall {
  return {
    index: 0,
    messageId: null,
    type: 'track',
    happenedAt: SAMPLE_START + second * 1000,
    note: null,
    userId: null,
    deviceId: personId(1),
    event: sampleEvent('Tapped'),
    traits: [],
    previousId: null,
    appId: app.id,
    sorId: sor.id,
    sessionTimeout: 120,
    ...call,
    context: { ...NO_CONTEXT, ...context },
  };
}

/** As a server takes them in. */
export async function takeIn(
  store: Pick<TestStore, 'db' | 'secrets'>,
  { entity }: World,
  calls: AppCall[],
): Promise<CallOutcome[]> {
  await ensurePartitions(
    store.db,
    calls.map(({ happenedAt }) => happenedAt),
  );
  await insertNewDefinitions(store.db, store.secrets, entity.id, calls);
  return write(store.db, (tx) => ingestHeld(tx, store.secrets, entity.id, calls), INSERT_CALLS);
}

/** The entity must be there. */
export async function ingestHeld(tx: Tx, secrets: Secrets, entityId: number, calls: AppCall[]): Promise<CallOutcome[]> {
  return insertCalls(tx, secrets, entityId, calls, (await holdEntity(tx, entityId))!);
}
