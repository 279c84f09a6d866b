import { randomUUID } from 'node:crypto';
import type { PushContext, PushLimits } from '../../../connectors/push/contract.ts';
import { readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { readPushServices } from '../../../connectors/web-push/push-services.ts';
import type { PushMessage, PushPlatform } from '../../../domain/sends/push.ts';

export function pushMessage(message: Partial<PushMessage> = {}): PushMessage {
  return {
    id: randomUUID(),
    title: 'Your order',
    subtitle: null,
    body: 'It is on its way',
    deepLink: null,
    attachmentUrl: null,
    category: null,
    sound: 'default',
    parameters: {},
    ttlSeconds: 3_600,
    collapseKey: null,
    priority: 'high',
    ...message,
  };
}

/** `allow`: as MILLRACE_FETCH_ALLOW has it. */
export type ContextOptions = Partial<Omit<PushContext, 'allow' | 'limits' | 'platform' | 'pushServices'>> & {
  allow?: string;
  /** As MILLRACE_PUSH_SERVICES has it. */
  pushServices?: string;
  limits?: Partial<PushLimits>;
  platform?: PushPlatform;
};

export function pushContext({
  allow = 'localhost,127.0.0.1',
  pushServices = 'localhost',
  limits,
  platform = 'android',
  ...context
}: ContextOptions = {}): PushContext {
  const read = readFetchAllow(allow);
  if (typeof read === 'string') throw new Error(read);
  const services = readPushServices(pushServices);
  if (typeof services === 'string') throw new Error(services);
  return {
    app: { packageName: 'com.example.shop', certificate: null },
    platform,
    allow: read,
    pushServices: services,
    now: Date.now,
    ...(limits === undefined ? {} : { limits }),
    ...context,
  };
}
