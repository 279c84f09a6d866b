import { apns } from '../apns/apns.ts';
import { fcm } from '../fcm/fcm.ts';
import { sandbox } from '../sandbox/sandbox.ts';
import { webPush } from '../web-push/web-push.ts';
import type { AnyPushProvider } from './contract.ts';

/** Every push provider there is, in the order in which they are listed. A new one joins here. */
export const pushProviders: AnyPushProvider[] = [sandbox, fcm, apns, webPush];

/** Null: there is none of that name. */
export function findPushProvider(name: string): AnyPushProvider | null {
  return pushProviders.find((provider) => provider.name === name) ?? null;
}
