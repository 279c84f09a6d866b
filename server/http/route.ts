/** Routes: bind an operation to the function that handles it. */
import type { FastifyBaseLogger } from 'fastify';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Auth, Operation } from '../../api/core/operation.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Caller } from './caller.ts';
import type { Reply } from './reply.ts';

export type ApiVersion = 2 | 3;

export type Circumstances = {
  version: ApiVersion;
  address: string;
  trackingTarget: TrackingTarget | null;
  /** Header `X-User-Token`, by which an app's server vouches for the user of a device. */
  userToken: string | undefined;
  /** Says that a script of this origin sent it, as far as a browser vouches. */
  isOfConsole: boolean;
  /** The caller gets no body. */
  isHead: boolean;
  requestId: string;
  log: FastifyBaseLogger;
  /** Call it once the credentials of a large file hold: it may then take its time. */
  verified(): void;
  hungUp(): AbortSignal;
};

/**
 * Keeps the answer for a repeat under the same `Idempotency-Key`; does nothing without a key. Every POST calls it at
 * the end of the transaction of its effect, and answers with the result. An answer with a secret or a customer's data
 * is not kept: `secretOf` names the created object for a repeat. Refuses, and so rolls back, if a repeat has taken over
 * the key.
 */
export type KeepReply = <T>(tx: Queryable, answered: T, options?: { secretOf?: string }) => Promise<T>;

export type Upload<F> = {
  /** Reads the stream to its end or refuses; `fields` are those that came before the file. */
  receive(
    stream: Readable,
    fields: Record<string, unknown>,
    circumstances: Circumstances & { caller: Caller | null },
    deps: RouteDependencies,
  ): Promise<F>;
  identify(file: F): string;
  /** Deletes a received file whose request was refused or is a repeat. */
  discard(file: F, deps: RouteDependencies): Promise<void>;
  /** Ends the use, however the request ended. */
  release(file: F): void;
};

export type Route = Operation & {
  upload?: Upload<unknown>;
  handle(
    input: Circumstances & Record<'params' | 'query' | 'body' | 'caller' | 'file', unknown> & { keepReply: KeepReply },
    deps: RouteDependencies,
  ): Promise<unknown>;
};

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

export type Handle<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
  A extends Auth,
  F = never,
> = (input: Input<P, Q, B, A, F>, deps: RouteDependencies) => Promise<z.input<R> | Reply>;

/** Binds an operation to `handle`. A returned value becomes `result`, unless it is a `Reply`. */
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
