import type { Readable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import type { z } from 'zod';
import type { Right } from '../../domain/accounts/rights.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { ApiVersion } from './api-version.ts';
import type { Caller } from './caller.ts';
import type { Reply } from './reply.ts';

/**
 * `token`: a logged-in user; `sor_key`: the key of a SoR in body or query, which `handle` checks; `app_key`: that of an app,
 * as the user of Basic authentication or in body or path, which `handle` checks too; `none`: anyone.
 */
export type Auth = 'token' | 'sor_key' | 'app_key' | 'none';
/**
 * Who may call beside the rights: `person`: whoever has logged in, no service token; `admin`: one of the entity;
 * `superadmin`: one of all entities, who counts as an admin of each.
 */
export type Role = 'person' | 'admin' | 'superadmin';
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What every request brings beside its input. */
export type Circumstances = {
  version: ApiVersion;
  /** The caller's network address. */
  address: string;
  /** Of a write key that came as the user of Basic authentication. */
  trackingTarget: TrackingTarget | null;
  requestId: string;
  log: FastifyBaseLogger;
  /** To be called of a large file once its credentials hold: it may take its time. */
  verified(): void;
};

/**
 * Keeps what `handle` answers, for a repeat under the same `Idempotency-Key`; does nothing where none came. Every POST
 * calls it at the end of the transaction of its effect, and answers with what it gives back. Where the answer holds a
 * secret, or tells of a customer, it is not kept: `secretOf` then names the created object, which a repeat is told.
 * Refuses, and so rolls back, when a repeat has taken the key over.
 */
export type KeepReply = <T>(tx: Queryable, answered: T, options?: { secretOf?: string }) => Promise<T>;

/** A file part of a web form, taken in as it comes. */
export type Upload<F> = {
  /** The name of the part. */
  part: string;
  /** Reads the stream to its end or refuses; `fields` are those that came before the file. */
  receive(
    stream: Readable, fields: Record<string, unknown>, circumstances: Circumstances, deps: RouteDependencies,
  ): Promise<F>;
  /** The content as it came, told apart from any other: its size and checksum. */
  identify(file: F): string;
  /** Takes back what was received: the request was refused, or done before. */
  discard(file: F, deps: RouteDependencies): Promise<void>;
  /** The request is over, however it ended. */
  release(file: F): void;
};

/** What a body is told in which one of these is wrong or missing, where the reference has words of its own for it. */
export type Malformed = { elements: readonly string[]; status: string | number; message: string | ((element: string) => string) };

type Nothing = z.ZodObject<Record<never, never>>;

type Spec<
  P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType, R extends z.ZodType, A extends Auth, F,
> = {
  method: Method;
  /** With `:name` for each member of `params`. */
  path: string;
  summary: string;
  description?: string;
  /** The group in the API page. */
  tag: string;
  auth?: A;
  /** Every one of these is needed. Without any, a token is enough. */
  right?: Right | readonly Right[];
  role?: Role;
  params?: P;
  query?: Q;
  body?: B;
  /** The payload within the envelope; left out where there is none. */
  result?: R;
  /** The answer is the result alone, without the envelope. */
  bare?: true;
  /** The type of an answer that is no JSON: a file, whose refusals stay JSON, or a page for a browser, which gets these as pages, too. */
  contentType?: 'text/csv' | 'application/zip' | 'text/html';
  /** The status of an answer that has no body (`noContent`). */
  status?: 204;
  malformed?: Malformed;
  /** The same for the query. */
  malformedQuery?: Malformed;
  /** For a POST that must not go by the header `Idempotency-Key`. */
  idempotencyKey?: 'ignored';
  /** Numbers of a JSON body keep their digits (`parseExactJson`). */
  exactNumbers?: true;
  /** Refusals also have `errorMessage` and `errorCode`, beside those of an answer (reference: Feeding attribute values). */
  errorCodes?: true;
  upload?: Upload<F>;
  handle(
    input: Circumstances & {
      params: z.output<P>;
      query: z.output<Q>;
      body: z.output<B>;
      caller: A extends 'token' ? Caller : undefined;
      file: F | undefined;
      keepReply: KeepReply;
    },
    deps: RouteDependencies,
  ): Promise<z.input<R> | Reply>;
};

/** A route as the server, the API page and the tests over all routes see it. */
export type Route = {
  method: Method;
  path: string;
  summary: string;
  description?: string;
  tag: string;
  auth: Auth;
  rights: readonly Right[];
  role?: Role;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  result?: z.ZodType;
  bare?: true;
  contentType?: 'text/csv' | 'application/zip' | 'text/html';
  status?: 204;
  malformed?: Malformed;
  /** The same for the query. */
  malformedQuery?: Malformed;
  idempotencyKey?: 'ignored';
  exactNumbers?: true;
  errorCodes?: true;
  upload?: Upload<unknown>;
  handle(
    input: Circumstances & Record<'params' | 'query' | 'body' | 'caller' | 'file', unknown> & { keepReply: KeepReply },
    deps: RouteDependencies,
  ): Promise<unknown>;
};

/**
 * Makes a route out of its description. The schemas give `handle` its types; what it returns becomes the
 * `result` of the envelope, unless it is a `Reply`.
 */
export function route<
  P extends z.ZodObject = Nothing, Q extends z.ZodObject = Nothing, B extends z.ZodType = Nothing,
  R extends z.ZodType = z.ZodNever, A extends Auth = 'token', F = never,
>({ auth, right, ...spec }: Spec<P, Q, B, R, A, F>): Route {
  const rights = right === undefined ? [] : [right].flat();
  return { ...spec, auth: auth ?? 'token', rights } as unknown as Route;
}
