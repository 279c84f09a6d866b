/** Checks a user token: a JWT by which an app's server vouches for a user. */

import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { customerIdError, isWordForNothing } from '../../domain/attributes/customer-id.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { AppTokenKey } from '../../store/apps/app-token-keys.ts';

const MAX_TOKEN_CHARS = 8_192;
const MAX_LIFE_SECONDS = 3_600;
const CLOCK_SKEW_SECONDS = 60;
/** Fixed, so that a token can't choose how it is checked. */
const ALGORITHM = 'HS256';

/**
 * Returns the user (`sub`) of a JWT that one of these keys signed by HS256, with `exp` at most an hour away (RFC 7519,
 * docs/user-tokens.md). Refuses all else with 401, and never quotes the token.
 */
export async function verifyUserToken(keys: readonly AppTokenKey[], token: unknown): Promise<string> {
  if (typeof token !== 'string') return refuseToken('must be a text, a JWT');
  if (token.length > MAX_TOKEN_CHARS) return refuseToken(`must have at most ${MAX_TOKEN_CHARS} characters`);
  const { sub, exp } = await verifyBySome(namedKeys(keys, token), token);
  if (exp! > Date.now() / 1_000 + MAX_LIFE_SECONDS + CLOCK_SKEW_SECONDS)
    refuseToken('its exp must be at most an hour away');
  const error =
    typeof sub !== 'string'
      ? 'it is no text'
      : isWordForNothing(sub)
        ? 'it is a word for nothing'
        : customerIdError(sub);
  return error === undefined ? sub! : refuseToken(`its sub must be a user id: ${error}`);
}

/** Returns the key of `kid`, or else all keys. */
function namedKeys(keys: readonly AppTokenKey[], token: string): readonly AppTokenKey[] {
  const kid = kidOf(token);
  return kid === undefined ? keys : keys.filter(({ identifier }) => identifier === kid);
}

function kidOf(token: string): unknown {
  try {
    return decodeProtectedHeader(token).kid;
  } catch {
    return refuseToken(UNREADABLE);
  }
}

async function verifyBySome(keys: readonly AppTokenKey[], token: string): Promise<JWTPayload> {
  for (const { secret } of keys) {
    const payload = await verifyBy(secret, token);
    if (payload !== null) return payload;
  }
  return refuseToken('is signed by no key that the app has now');
}

/** Returns null if another key signed the token. */
async function verifyBy(secret: string, token: string): Promise<JWTPayload | null> {
  const options = { algorithms: [ALGORITHM], clockTolerance: CLOCK_SKEW_SECONDS, requiredClaims: ['sub', 'exp'] };
  try {
    return (await jwtVerify(token, Buffer.from(secret), options)).payload;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return null;
    if (error instanceof errors.JOSEError) return refuseToken(sayWrong(error));
    throw error;
  }
}

const UNREADABLE = 'must be a JWT in its compact form';

function sayWrong(error: errors.JOSEError): string {
  if (error instanceof errors.JOSEAlgNotAllowed) return `must be signed with ${ALGORITHM}`;
  if (error instanceof errors.JWTExpired) return "has expired (exp): the app's server has to make a new one";
  if (error instanceof errors.JWTClaimValidationFailed) return `its ${error.claim} is missing, or not as it must be`;
  return UNREADABLE;
}

function refuseToken(error: string): never {
  const message = `userToken: ${error}`;
  return refuse(401, 'unauthorized', message, {
    messages: [{ element: 'userToken', severity: 'error', message: error }],
    errors: [message],
  });
}
