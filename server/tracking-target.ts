import { isObject } from '../domain/call-fields.ts';
import { refuse } from '../domain/refusal.ts';
import type { TrackingTarget } from '../store/tracking-target.ts';
import type { RouteNeeds } from './needs.ts';
import type { Circumstances } from './route.ts';

/**
 * Where a request's calls go, by its write key: the user of Basic authentication, else `writeKey` of the body. Refuses a
 * key that is unknown or revoked, and what is beyond its rate.
 */
export async function requireTarget(
  { trackingApps, keyRates }: RouteNeeds, { basicUser }: Circumstances, body: unknown,
): Promise<TrackingTarget> {
  const inBody = isObject(body) && typeof body.writeKey === 'string' ? body.writeKey : '';
  const writeKey = basicUser || inBody;
  const target = writeKey === '' ? null : await trackingApps.find(writeKey);
  if (target === null) return refuse(401, 'unauthorized', 'Invalid or missing write key');
  keyRates.take(writeKey);
  return target;
}
