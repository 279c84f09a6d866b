import { refuse } from '../../domain/core/refusal.ts';
import { isObject } from '../../domain/tracking/call-fields.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Circumstances } from '../http/route.ts';

type Dependencies = Pick<RouteDependencies, 'trackingApps' | 'keyRates'>;

/**
 * Where the requests of a write key go. Refuses a key that is unknown or revoked, and what is beyond its rate.
 */
export async function targetOfKey(
  { trackingApps, keyRates }: Dependencies,
  writeKey: string,
  address: string,
): Promise<TrackingTarget> {
  const target = await trackingApps.find(writeKey, address);
  if (target === null) return refuse(401, 'unauthorized', 'Invalid or missing write key');
  keyRates.take(writeKey);
  return target;
}

/**
 * Where a request's calls go: by the user of Basic authentication, known before the body is read, else by `writeKey` of
 * the body.
 */
export async function requireTarget(
  deps: Dependencies,
  { trackingTarget, address }: Pick<Circumstances, 'trackingTarget' | 'address'>,
  body: unknown,
): Promise<TrackingTarget> {
  if (trackingTarget) return trackingTarget;
  return targetOfKey(deps, isObject(body) && typeof body.writeKey === 'string' ? body.writeKey : '', address);
}
