import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../domain/core/refusal.ts';
import { networkOf } from './network-of.ts';

/**
 * Refuses with 429 what goes beyond so many requests per minute of one token, or of one address (of IPv6, one /64)
 * where no living token is shown: a made-up token has no share of its own.
 */
export async function limitRates(app: FastifyInstance, perMinute: number): Promise<void> {
  if (perMinute === 0) return;
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: '1 minute',
    enableDraftSpec: true,
    keyGenerator: ({ caller, ip }) => (caller ? `token ${caller.tokenName}` : `address ${networkOf(ip)}`),
    errorResponseBuilder: (_request, { max, after }) =>
      new Refusal(429, 'too_many_requests', `More than ${max} requests in a minute: try again in ${after}`),
  });
}
