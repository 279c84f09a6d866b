import type { Readable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import type { z } from 'zod';
import type { Auth, Operation } from '../../api/core/operation.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { ApiVersion } from './api-version.ts';
import type { Caller } from './caller.ts';
import type { Reply } from './reply.ts';

/** What every request brings beside its input. */
export type Circumstances = {
  version: ApiVersion;
  /** The caller's network address. */
  address: string;
  /** Of a write key that came as the user of Basic authentication. */
  trackingTarget: TrackingTarget | null;
  /** Of the header `X-User-Token`, by which an app's server vouches for the user of a device. */
  userToken: string | undefined;
  requestId: string;
  log: FastifyBaseLogger;
  /** To be called of a large file once its credentials hold: it may take its time. */
  verified(): void;
  /** Aborts once the caller hangs up. */
  hungUp(): AbortSignal;
};

/**
 * Keeps what `handle` answers, for a repeat under the same `Idempotency-Key`; does nothing where none came. Every POST
 * calls it at the end of the transaction of its effect, and answers with what it gives back. Where the answer holds a
 * secret, or tells of a customer, it is not kept: `secretOf` then names the created object for a repeat.
 * Refuses, and so rolls back, when a repeat has taken the key over.
 */
export type KeepReply = <T>(tx: Queryable, answered: T, options?: { secretOf?: string }) => Promise<T>;

/** A file part of a web form, taken in as it comes. */
export type Upload<F> = {
  /** Reads the stream to its end or refuses; `fields` are those that came before the file. */
  receive(
    stream: Readable,
    fields: Record<string, unknown>,
    circumstances: Circumstances,
    deps: RouteDependencies,
  ): Promise<F>;
  /** The content as it came, told apart from any other: its size and checksum. */
  identify(file: F): string;
  /** Takes back what was received: the request was refused, or done before. */
  discard(file: F, deps: RouteDependencies): Promise<void>;
  /** The request is over, however it ended. */
  release(file: F): void;
};

/** An operation and what it does, as the server and the tests over all routes see it. */
export type Route = Operation & {
  upload?: Upload<unknown>;
  handle(
    input: Circumstances & Record<'params' | 'query' | 'body' | 'caller' | 'file', unknown> & { keepReply: KeepReply },
    deps: RouteDependencies,
  ): Promise<unknown>;
};

/** What the schemas of an operation make of a request. */
export type Input<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  A extends Auth,
  F = never,
> = Circumstances & {
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
  caller: A extends 'token' ? Caller : undefined;
  file: F | undefined;
  keepReply: KeepReply;
};

/** What serves an operation. */
export type Handle<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Auth,
  F = never,
> = (input: Input<P, Q, B, A, F>, deps: RouteDependencies) => Promise<z.input<R> | Reply>;

/**
 * Serves an operation: its schemas give `handle` its types; what it returns becomes the `result` of the envelope,
 * unless it is a
 * `Reply`.
 */
export function route<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Auth,
  F = never,
>(operation: Operation<P, Q, B, R, A>, handle: Handle<P, Q, B, R, A, F>, upload?: Upload<F>): Route {
  return { ...operation, handle, ...(upload ? { upload } : {}) } as unknown as Route;
}
