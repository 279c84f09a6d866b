import { customerIdError } from '../attributes/customer-id.ts';
import { type CallError, type Fields, invalid, isAbsent, isCallError, textOrNumber } from './call-fields.ts';
import type { CallType, TrackedCall } from './tracked-call.ts';

type Subject = Pick<TrackedCall, 'userId' | 'deviceId' | 'previousId'>;

/** What systems give for a device without an id of its own: many devices would be one. */
const NO_DEVICE = new Set([
  'unknown', 'undefined', 'null', '00000000-0000-0000-0000-000000000000', '000000000000000', '9774d56d682e549c',
]);

/**
 * Whom a call is of: `userId`, and `context.device.id`, for which `anonymousId` stands where it is missing, as on the
 * web. All three are customer ids; a number is taken as its text.
 */
export function readSubject(type: CallType, fields: Fields, device: Fields): Subject | CallError {
  const userId = readId('userId', fields.userId);
  if (isCallError(userId)) return userId;
  const deviceId = isNoDevice(device.id) ? readId('anonymousId', fields.anonymousId) : readId('context.device.id', device.id);
  if (isCallError(deviceId)) return deviceId;
  if (userId.id === null && deviceId.id === null) {
    return { code: 'nobody', message: 'userId: must stand in a call, or anonymousId, or context.device.id' };
  }
  const previousId = type === 'alias' ? readPreviousId(fields, userId.id) : { id: null };
  return isCallError(previousId) ? previousId : { userId: userId.id, deviceId: deviceId.id, previousId: previousId.id };
}

function readPreviousId(fields: Fields, userId: string | null): { id: string | null } | CallError {
  if (userId === null) return invalid('userId', 'must stand in an alias: it is the id from now on');
  return isAbsent(fields.previousId) ? invalid('previousId', 'must stand in an alias') : readId('previousId', fields.previousId);
}

/** Whether an id that was given for a device is none. */
export function isNoDevice(id: unknown): boolean {
  return isAbsent(id) || (typeof id === 'string' && NO_DEVICE.has(id.toLowerCase()));
}

/** Null where it is absent. */
export function readId(field: string, value: unknown): { id: string | null } | CallError {
  if (isAbsent(value)) return { id: null };
  const id = textOrNumber(value);
  if (id === undefined) return invalid(field, 'must be a text or a number');
  const error = customerIdError(id);
  return error === undefined ? { id } : invalid(field, error.replace('the customer id', 'it'));
}
