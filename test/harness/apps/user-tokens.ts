import { type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { insertAppTokenKey } from '../../../store/apps/app-token-keys.ts';
import { write } from '../../../store/core/database.ts';
import type { TestStore } from '../core/database.ts';
import { rememberSecret } from '../core/people.ts';

/** A key by which an app's server signs, as the API makes it. */
export type TokenKey = { identifier: string; secret: string };

export async function insertTokenKey({ db, secrets }: TestStore, entityId: number, appId: number): Promise<TokenKey> {
  const key = await write(db, (tx) => insertAppTokenKey(tx, secrets, entityId, appId));
  if (!key) throw new Error('the app of a sample has as many keys as it may');
  rememberSecret(key.secret);
  return key;
}

/** What an app's server says of who its user is: by default for five minutes. */
export async function signUserToken(
  { secret }: Pick<TokenKey, 'secret'>,
  claims: JWTPayload,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const token = await new SignJWT({ exp: now + 300, ...claims })
    .setProtectedHeader({ alg: 'HS256', ...header })
    .sign(Buffer.from(secret));
  rememberSecret(token);
  return token;
}
