import type { PushMessage, PushOutcome, PushPlatform, PushTarget } from '../../domain/sends/push.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { SendingApp } from '../../store/sends/send-targets.ts';
import type { Dependencies } from '../dependencies.ts';

/** How the pushes of an app go out. */
export type SendingProvider = {
  name: string;
  /** Of a provider that reaches nothing outside: what becomes of a push is known at once. */
  settle?(target: PushTarget, message: PushMessage): PushOutcome;
  send(target: PushTarget, message: PushMessage): Promise<PushOutcome>;
};

const PLATFORMS: Record<SendingApp['appType'], PushPlatform> = { 'iOS App': 'ios', 'Android App': 'android', 'Web App': 'web' };

export function targetOf({ appType }: Pick<SendingApp, 'appType'>, token: string): PushTarget {
  return { platform: PLATFORMS[appType], token };
}

export async function sendingProvider(
  _tx: Queryable, _deps: Dependencies, _entityId: number, _app: SendingApp,
): Promise<SendingProvider> {
  const settle = (_target: PushTarget, message: PushMessage): PushOutcome => ({ kind: 'sent', providerId: `sandbox/${message.id}` });
  return { name: 'sandbox', settle, send: async (target, message) => settle(target, message) };
}
