import { type Right, RIGHTS } from '../domain/rights.ts';
import type { Database } from '../store/database.ts';
import { tokenHash } from '../store/secrets.ts';
import { findTokenOwner } from '../store/tokens.ts';

/** Who asks, in the one entity that the token acts in. */
export type Caller = {
  userId: number;
  entityId: number;
  /** A superadmin has every right. */
  rights: ReadonlySet<Right>;
  admin: boolean;
  superadmin: boolean;
  token: string;
  /** Names the token where its requests are counted. */
  tokenName: string;
};

const HEADER = /^Token ([A-Za-z0-9_-]{1,256})$/i;

/** The caller that an `Authorization: Token <AUTH_TOKEN>` header speaks for; null for a missing, dead or odd one. */
export async function findCaller(db: Database, header: string | undefined, ttlDays: number): Promise<Caller | null> {
  const token = HEADER.exec(header ?? '')?.[1];
  if (token === undefined) return null;
  const owner = await findTokenOwner(db, token, ttlDays);
  if (!owner) return null;
  return { ...owner, rights: rightsOf(owner), token, tokenName: tokenHash(token).toString('base64url') };
}

/** The rights that a membership gives: all of them to a superadmin, those listed to anyone else. */
export function rightsOf(
  { rights, superadmin }: { rights: readonly Right[]; superadmin: boolean },
): ReadonlySet<Right> {
  return new Set(superadmin ? RIGHTS : rights);
}
