import { isWordForNothing, newCustomerIdError } from '../attributes/customer-id.ts';
import { type CallError, type Fields, invalid, isAbsent, isCallError, textOrNumber } from './call-fields.ts';
import type { CallType, TrackedCall } from './tracked-call.ts';

type Subject = Pick<TrackedCall, 'userId' | 'deviceId' | 'previousId'>;

/**
 * Ids that systems give for a device without one of its own: many devices would be one. Zeros, as a text or a number,
 * and an id that thousands of phones had.
 */
const NO_DEVICE = /^[0-]+(?:\.0+)?$|^9774d56d682e549c$/i;

/**
 * Whom a call is of: `userId`, and `context.device.id`, for which `anonymousId` stands where it is missing, as on the
 * web. All three are customer ids; a number is taken as its text, and a word for nothing (`undefined`) as missing.
 */
export function readSubject(type: CallType, fields: Fields, device: Fields): Subject | CallError {
  const userId = readId('userId', fields.userId);
  if (isCallError(userId)) return userId;
  const deviceId = isNoDevice(device.id)
    ? readDevice('anonymousId', fields.anonymousId)
    : readId('context.device.id', device.id);
  if (isCallError(deviceId)) return deviceId;
  if (userId.id === null && deviceId.id === null) {
    return { code: 'nobody', message: 'userId: must stand in a call, or anonymousId, or context.device.id' };
  }
  const previousId = type === 'alias' ? readPreviousId(fields, userId.id) : { id: null };
  return isCallError(previousId) ? previousId : { userId: userId.id, deviceId: deviceId.id, previousId: previousId.id };
}

function readPreviousId(fields: Fields, userId: string | null): { id: string | null } | CallError {
  if (userId === null) return invalid('userId', 'must stand in an alias: it is the id from now on');
  return isNoId(fields.previousId)
    ? invalid('previousId', 'must stand in an alias')
    : readId('previousId', fields.previousId);
}

/** Whether an id that was given for a device is none. */
export function isNoDevice(id: unknown): boolean {
  return isNoId(id) || NO_DEVICE.test(textOrNumber(id) ?? '');
}

function readDevice(field: string, id: unknown): { id: string | null } | CallError {
  return isNoDevice(id) ? { id: null } : readId(field, id);
}

/** Whether an id is missing: absent, or a word for nothing. */
export function isNoId(id: unknown): boolean {
  return isAbsent(id) || (typeof id === 'string' && isWordForNothing(id));
}

/** Null where it is missing. */
export function readId(field: string, value: unknown): { id: string | null } | CallError {
  if (isNoId(value)) return { id: null };
  const id = textOrNumber(value);
  if (id === undefined) return invalid(field, 'must be a text or a number');
  const error = newCustomerIdError(id);
  return error === undefined ? { id } : invalid(field, error.replace('the customer id', 'it'));
}
