import { Transform } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../domain/core/refusal.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type BodyForm, keyGate } from './verify-body.ts';

/** A body that is no larger is not counted: as many as there may be connections take 80 MiB. */
const COUNTED_FROM_BYTES = 8 * 1024;

/**
 * Bounds what comes of bodies whose credentials stand in them, until these hold: together with uploads they have one
 * budget, and a large one shows its key at its beginning.
 */
export function boundUnverifiedBodies(app: FastifyInstance, deps: RouteDependencies): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const { 'content-length': length, 'content-type': type = '' } = request.headers;
    if (request.isVerified || Number(length) <= COUNTED_FROM_BYTES || type.startsWith('multipart/')) return payload;
    const admit = admitting(
      request,
      reply,
      deps,
      type.startsWith('application/x-www-form-urlencoded') ? 'form' : 'json',
    );
    const bounded = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        admit(chunk).then(
          () => done(null, chunk),
          (error: Error) => {
            payload.unpipe(bounded);
            payload.resume(); // what still comes is dropped
            reply.header('connection', 'close');
            bounded.destroy(error);
          },
        );
      },
    });
    payload.once('error', (error: Error) => bounded.destroy(error));
    return payload.pipe(bounded);
  });
}

/** Counts each piece of a body, until its credentials hold or the request is over; refuses one too many. */
function admitting(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: RouteDependencies,
  form: BodyForm,
): (chunk: Buffer) => Promise<void> {
  const { ip: address, verified } = request;
  const showsKey = keyGate(request, form, deps);
  let taken = 0;
  const giveBack = () => {
    deps.unverified.giveBack(address, taken);
    taken = 0;
  };
  request.verified = () => {
    verified.call(request);
    giveBack();
  };
  reply.raw.once('close', giveBack);
  return async (chunk) => {
    if (request.isVerified || reply.raw.closed) return;
    if (!deps.unverified.take(address, chunk.length)) {
      reply.header('retry-after', '1');
      throw new Refusal(
        429,
        'too_many_requests',
        'Too much waits for its credentials: try again, or send a smaller body',
      );
    }
    taken += chunk.length;
    await showsKey(chunk);
  };
}
