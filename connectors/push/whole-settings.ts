import { webPush } from '../web-push/web-push.ts';

type Values = { [member: string]: unknown };
type VapidKeys = { publicKey: string; privateKey: string };

/** What is stored of a provider, opened, as the provider's own schema takes it. */
export function wholeSettings(
  { provider, settings, secretSettings, vapidKeys }:
  { provider: string; settings: Values; secretSettings: Values; vapidKeys: VapidKeys | null },
): Values {
  return { ...settings, ...secretSettings, ...provider === webPush.name && vapidKeys ? vapidMembers(vapidKeys) : {} };
}

export function vapidMembers({ publicKey, privateKey }: VapidKeys): Values {
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
}
