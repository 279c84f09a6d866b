/** Finds the caller of a request by token or session cookie. */
import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import { findServiceTokenOwner, isServiceToken } from '../../store/accounts/service-tokens.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { findTokenOwner, type TokenOwner } from '../../store/accounts/tokens.ts';
import type { Database } from '../../store/core/database.ts';
import { tokenHash } from '../../store/core/secrets.ts';

export type Caller = {
  /** A service token's creator. */
  userId: number;
  /** Null for a person who has logged in. */
  serviceTokenId: number | null;
  entityId: number;
  /** A superadmin has every right. */
  rights: ReadonlySet<Right>;
  admin: boolean;
  superadmin: boolean;
  token: string;
  tokenName: string;
  /** Identifier of a session's entity; a tab may still show another one. */
  sessionEntity?: string;
};

const HEADER = /^Token ([A-Za-z0-9_-]{1,256})$/i;

/** Returns the caller of an `Authorization: Token <AUTH_TOKEN>` header or a session's cookie; null if not valid. */
export async function findCaller(
  db: Database,
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  ttlDays: number,
): Promise<Caller | null> {
  if (headers.authorization === undefined) return findSession(db, method, headers, ttlDays);
  const token = HEADER.exec(headers.authorization)?.[1];
  if (token === undefined) return null;
  const bearer = isServiceToken(token)
    ? await findMachine(db, token)
    : asPerson(await findTokenOwner(db, token, ttlDays));
  return bearer && callerOf(bearer, token);
}

/** Prefix `__Host-`: browsers take the cookie only with Secure and for the whole of one host (RFC 6265bis, 4.1.3.2). */
const COOKIE = '__Host-millrace';
const COOKIE_HEADER = new RegExp(`(?:^|; ?)${COOKIE}=([A-Za-z0-9_-]{1,256})(?:;|$)`);

/** Returns the header that keeps a session until the browser closes, or drops it (null). */
export function sessionCookie(token: string | null): Record<string, string> {
  const kept = token === null ? `${COOKIE}=; Max-Age=0` : `${COOKIE}=${token}`;
  return { 'set-cookie': `${kept}; Path=/; Secure; HttpOnly; SameSite=Strict` };
}

/** Returns false for what another site or a form may have sent: only scripts of this origin can add our header. */
export function isOfConsole(method: string, headers: IncomingHttpHeaders): boolean {
  const isSafe = method === 'GET' || method === 'HEAD';
  return headers['sec-fetch-site'] === 'same-origin' && (isSafe || headers['x-millrace-console'] !== undefined);
}

async function findSession(
  db: Database,
  method: string,
  headers: IncomingHttpHeaders,
  ttlDays: number,
): Promise<Caller | null> {
  const token = COOKIE_HEADER.exec(headers.cookie ?? '')?.[1];
  if (token === undefined || !isOfConsole(method, headers)) return null;
  const isBackground = headers['x-millrace-background'] !== undefined;
  const owner = await findTokenOwner(db, token, ttlDays, { isSession: true, isBackground });
  const bearer = asPerson(owner);
  return owner && bearer && { ...callerOf(bearer, token), sessionEntity: owner.entityIdentifier };
}

function callerOf(bearer: Bearer, token: string): Caller {
  return { ...bearer, token, tokenName: tokenHash(token).toString('base64url') };
}

type Bearer = Omit<Caller, 'token' | 'tokenName'>;

function asPerson(owner: TokenOwner | null): Bearer | null {
  return owner && { ...owner, rights: rightsOf(owner), serviceTokenId: null };
}

/** Returns a service token's caller: never an admin, and only with rights that its creator still has. */
async function findMachine(db: Database, token: string): Promise<Bearer | null> {
  const found = await findServiceTokenOwner(db, token);
  if (!found) return null;
  const {
    id,
    tokenRights,
    creator: { userId, entityId, ...creator },
  } = found;
  const creatorRights = rightsOf(creator);
  const rights = new Set(tokenRights.filter((right) => creatorRights.has(right)));
  return { userId, entityId, rights, admin: false, superadmin: false, serviceTokenId: id };
}

export function rightsOf({
  rights,
  superadmin,
}: {
  rights: readonly Right[];
  superadmin: boolean;
}): ReadonlySet<Right> {
  return new Set(superadmin ? RIGHTS : rights);
}
