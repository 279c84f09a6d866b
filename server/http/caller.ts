import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import { findServiceTokenOwner, isServiceToken } from '../../store/accounts/service-tokens.ts';
import { findTokenOwner, type TokenOwner } from '../../store/accounts/tokens.ts';
import type { Database } from '../../store/core/database.ts';
import { tokenHash } from '../../store/core/secrets.ts';

/** The caller of a request, in the one entity of the token. */
export type Caller = {
  /** For a service token: its creator. */
  userId: number;
  /** Null for a person who has logged in. */
  serviceTokenId: number | null;
  entityId: number;
  /** A superadmin has every right. */
  rights: ReadonlySet<Right>;
  admin: boolean;
  superadmin: boolean;
  token: string;
  /** Identifies the token in rate limits. */
  tokenName: string;
};

const HEADER = /^Token ([A-Za-z0-9_-]{1,256})$/i;

/** Returns the caller of an `Authorization: Token <AUTH_TOKEN>` header; null if it is missing, expired or malformed. */
export async function findCaller(db: Database, header: string | undefined, ttlDays: number): Promise<Caller | null> {
  const token = HEADER.exec(header ?? '')?.[1];
  if (token === undefined) return null;
  const bearer = isServiceToken(token)
    ? await findMachine(db, token)
    : asPerson(await findTokenOwner(db, token, ttlDays));
  return bearer && { ...bearer, token, tokenName: tokenHash(token).toString('base64url') };
}

type Bearer = Omit<Caller, 'token' | 'tokenName'>;

function asPerson(owner: TokenOwner | null): Bearer | null {
  return owner && { ...owner, rights: rightsOf(owner), serviceTokenId: null };
}

/** Returns a service token's caller: never an admin, with those of its rights that its creator still has. */
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

/** Returns the rights of a membership; a superadmin has all. */
export function rightsOf({
  rights,
  superadmin,
}: {
  rights: readonly Right[];
  superadmin: boolean;
}): ReadonlySet<Right> {
  return new Set(superadmin ? RIGHTS : rights);
}
