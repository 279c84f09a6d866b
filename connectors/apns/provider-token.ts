import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';

export type TokenKey = { key: string; key_id: string; team_id: string };

/**
 * Apple refuses a token after an hour, and a new one within 20 minutes of the last (Apple: Establishing a token-based
 * connection).
 */
const RENEW_AFTER_MS = 40 * 60_000;
const RENEW_AT_EARLIEST_MS = 20 * 60_000;
const MAX_KEYS = 1_000;

type Signed = { token: Promise<string>; at: number };

/** One for the whole process: Apple counts the renewals of a key across all its connections. */
const signed = new Map<string, Signed>();

/** Null where it is no private key on the curve P-256, which is all that Apple gives out. */
export function readTokenKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null;
  } catch {
    return null;
  }
}

/** The JWT that stands for the key at `now`. */
export function providerToken(key: TokenKey, now: number): Promise<string> {
  const known = signed.get(nameOf(key));
  return known && now - known.at < RENEW_AFTER_MS && now >= known.at ? known.token : sign(key, now);
}

/** A new token where Apple calls `expired` too old; null where Apple would not take a newer one yet. */
export async function renewedToken(key: TokenKey, expired: string, now: number): Promise<string | null> {
  const known = signed.get(nameOf(key));
  if (!known || now - known.at >= RENEW_AT_EARLIEST_MS) return sign(key, now);
  const current = await known.token;
  return current === expired ? null : current;
}

function sign(key: TokenKey, now: number): Promise<string> {
  const name = nameOf(key);
  const token = jwtOf(key, now);
  signed.delete(name);
  signed.set(name, { token, at: now });
  const [oldest] = signed.keys();
  if (signed.size > MAX_KEYS) signed.delete(oldest!);
  return token;
}

function jwtOf({ key, key_id: kid, team_id: team }: TokenKey, now: number): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer(team)
    .setIssuedAt(Math.floor(now / 1_000))
    .sign(readTokenKey(key)!);
}

function nameOf({ key, key_id: id, team_id: team }: TokenKey): string {
  return createHash('sha256')
    .update(JSON.stringify([team, id, key]))
    .digest('base64');
}
