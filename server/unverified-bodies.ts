import { Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../domain/refusal.ts';
import type { UploadBudget } from './upload-budget.ts';

/** A body that is no larger is not counted: as many as there may be connections take 80 MiB. */
const COUNTED_FROM_BYTES = 8 * 1024;

/** Counts what has come of bodies whose credentials stand in them, until these hold: together with uploads they have one budget. */
export function countUnverifiedBodies(app: FastifyInstance, unverified: UploadBudget): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const { 'content-length': length, 'content-type': type = '' } = request.headers;
    if (request.isVerified || Number(length) <= COUNTED_FROM_BYTES || type.startsWith('multipart/')) return payload;
    const { ip: address } = request;
    let taken = 0;
    const giveBack = () => {
      unverified.giveBack(address, taken);
      taken = 0;
    };
    const counting = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (!request.isVerified && !reply.raw.closed) {
          if (!unverified.take(address, chunk.length)) return refuse();
          taken += chunk.length;
        }
        done(null, chunk);
      },
    });
    const refuse = () => {
      payload.unpipe(counting);
      payload.resume();             // what still comes is dropped
      reply.header('connection', 'close').header('retry-after', '1');
      counting.destroy(new Refusal(429, 'too_many_requests', 'Too much waits for its credentials: try again, or send a smaller body'));
    };
    const { verified } = request;
    request.verified = () => {
      verified.call(request);
      giveBack();
    };
    reply.raw.once('close', giveBack);
    payload.once('error', (error: Error) => counting.destroy(error));
    return payload.pipe(counting);
  });
}
