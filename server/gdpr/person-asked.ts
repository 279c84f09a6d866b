import { refuseField } from '../../domain/core/refusal.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';

/** Returns null if neither is given. `notBoth` says why both are refused. */
export function personAsked(
  { user_id: userId, device_id: deviceId }: { user_id?: string | undefined; device_id?: string | undefined },
  notBoth: string,
): Person | null {
  if (userId !== undefined && deviceId !== undefined)
    refuseField('device_id', `must not come with user_id: ${notBoth}`);
  if (userId !== undefined) return { customerType: 'user_id', customerId: userId };
  return deviceId === undefined ? null : { customerType: 'device_id', customerId: deviceId };
}
