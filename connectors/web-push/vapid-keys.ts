import library from 'web-push';

/** In base64url, the form that browsers take. */
export type VapidKeys = { vapid_public_key: string; vapid_private_key: string };

export function newVapidKeys(): VapidKeys {
  const { publicKey, privateKey } = library.generateVAPIDKeys();
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
}
