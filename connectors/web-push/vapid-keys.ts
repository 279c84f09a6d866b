import { createECDH } from 'node:crypto';
import library from 'web-push';

/** In base64url, as browsers take the public one. */
export type VapidKeys = { vapid_public_key: string; vapid_private_key: string };

const PUBLIC_BYTES = 65;
const PRIVATE_BYTES = 32;

export function newVapidKeys(): VapidKeys {
  const { publicKey, privateKey } = library.generateVAPIDKeys();
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
}

/** What is wrong with them, by the member to be named. */
export function vapidKeysError({
  vapid_public_key: publicKey,
  vapid_private_key: privateKey,
}: VapidKeys): [keyof VapidKeys, string] | undefined {
  const [shown, own] = [publicKey, privateKey].map((key) => Buffer.from(key, 'base64url'));
  if (shown!.length !== PUBLIC_BYTES || shown![0] !== 4) {
    return ['vapid_public_key', `must be an uncompressed point of P-256, ${PUBLIC_BYTES} bytes in base64url`];
  }
  if (own!.length !== PRIVATE_BYTES) return ['vapid_private_key', `must be ${PRIVATE_BYTES} bytes in base64url`];
  return publicOf(own!)?.equals(shown!) === true
    ? undefined
    : ['vapid_private_key', 'must be the key that vapid_public_key belongs to'];
}

function publicOf(privateKey: Buffer): Buffer | null {
  try {
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(privateKey);
    return curve.getPublicKey();
  } catch {
    return null;
  }
}
