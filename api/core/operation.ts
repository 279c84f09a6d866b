/** The definition of an operation, from which server, client and documents are made. */
import type { z } from 'zod';
import type { Audited } from '../../domain/accounts/audit.ts';
import type { Right } from '../../domain/accounts/rights.ts';

/** The key of a SoR comes in body or query; that of an app as the user of Basic authentication, or in body or path. */
export type Auth = 'token' | 'sor_key' | 'app_key' | 'none';
/** A role besides the rights. `person`: no service token; `superadmin` counts as an admin of each entity. */
export type Role = 'person' | 'admin' | 'superadmin';
/** Returns whether a caller has the role; an operation without one takes all. */
export function hasRole(
  { isPerson, admin, superadmin }: { isPerson: boolean; admin: boolean; superadmin: boolean },
  role: Role | undefined,
): boolean {
  if (role === undefined) return true;
  return role === 'person' ? isPerson : superadmin || (role === 'admin' && admin);
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The reference's refusal of a body or query in which one of these elements is wrong or missing. */
export type Malformed = {
  elements: readonly string[];
  status: string | number;
  message: string | ((element: string) => string);
};

export type Nothing = z.ZodObject<Record<never, never>>;

export type Operation<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
  A extends Auth = Auth,
> = {
  /** Unique: the name of the call in the OpenAPI document and in the client. */
  id: string;
  method: Method;
  path: string;
  summary: string;
  description?: string;
  tag: string;
  auth: A;
  /** The caller needs all of these. If there are none, a token is enough. */
  rights: readonly Right[];
  /** The additional right, by the type of the call's object. The handler calls `requireRightOfType`. */
  rightsByType?: Readonly<Record<string, Right>>;
  /** The additional right, by a field of the object. The handler calls `requireRightOfField`. */
  rightsByField?: Readonly<Record<string, Right>>;
  role?: Role;
  /** The entries that a call may write into the audit log. A read may write none. */
  audits: readonly Audited[];
  /** Clients ask again and again for what is new: one entry of a viewer covers the calls of an hour. */
  isFollowed?: true;
  params?: P;
  query?: Q;
  body?: B;
  result?: R;
  /** The response is the result alone, without the envelope. */
  bare?: true;
  /** Machines call it every few seconds: it is neither limited nor traced. Its result may also come with 503. */
  isProbe?: true;
  /** The type of a response that is not JSON. Refusals of a file stay JSON; those of a page are pages. */
  contentType?: 'text/csv' | 'application/zip' | 'application/octet-stream' | 'text/html' | 'image/*';
  status?: 204;
  malformed?: Malformed;
  malformedQuery?: Malformed;
  idempotencyKey?: 'ignored';
  /** Keeps the digits of numbers (`parseExactJson`); `as text`: a number that a double would round becomes a text. */
  exactNumbers?: true | 'as text';
  /** Refusals also have `errorMessage` and `errorCode`, as other responses do (reference: Feeding attribute values). */
  errorCodes?: true;
  maxElements?: number;
  uploadPart?: string;
};

type Spec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Auth,
> = Omit<Operation<P, Q, B, R, A>, 'auth' | 'rights' | 'audits'> & {
  /** By default `token`. */
  auth?: A;
  right?: Right | readonly Right[];
  audits?: Audited | readonly Audited[];
};

/** Makes an operation, which the server, the OpenAPI document, the rights table and the client all use. */
export function operation<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = Nothing,
  R extends z.ZodType = z.ZodNever,
  A extends Auth = 'token',
>({ auth, right, audits = [], ...spec }: Spec<P, Q, B, R, A>): Operation<P, Q, B, R, A> {
  return {
    ...spec,
    auth: auth ?? ('token' as A),
    rights: right === undefined ? [] : [right].flat(),
    audits: [audits].flat(),
  };
}

/** Returns false without credentials: no caller owns the key, and a login's hash would be a password's fast hash. */
export function takesIdempotencyKey({
  method,
  auth,
  idempotencyKey,
}: Pick<Operation, 'method' | 'auth' | 'idempotencyKey'>): boolean {
  return method === 'POST' && auth !== 'none' && idempotencyKey !== 'ignored';
}
