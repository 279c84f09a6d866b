import { apns } from '../apns/apns.ts';
import { fcm } from '../fcm/fcm.ts';
import { sandbox } from '../sandbox/sandbox.ts';
import { webPush } from '../web-push/web-push.ts';
import type { AnyPushProvider } from './contract.ts';

/** All push providers, in the order of lists. Add a new one here. */
export const pushProviders: AnyPushProvider[] = [sandbox, fcm, apns, webPush];

/** Returns the provider of this name, or null. */
export function findPushProvider(name: string): AnyPushProvider | null {
  return pushProviders.find((provider) => provider.name === name) ?? null;
}
