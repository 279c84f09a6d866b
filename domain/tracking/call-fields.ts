/** Members of a call: errors, texts, and the ids of its person and device. */

import { isWordForNothing, newCustomerIdError } from '../attributes/customer-id.ts';
import { isObject, numberText } from '../json/exact-json.ts';
import { isKeptByDouble } from '../text/number-value.ts';
import type { CallType, RefusalCode, Call } from './call.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Why a call can't be read. The message names the field and what would be right, and quotes no values. */
export type CallError = { code: RefusalCode; message: string };

export function invalid(field: string, message: string): CallError {
  return { code: 'invalid', message: `${field}: ${message}` };
}

export function isCallError<T extends object>(outcome: T | CallError): outcome is CallError {
  return 'code' in outcome;
}

export function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

/** Returns an object's members; none if absent or an empty array (PHP's empty map); undefined for anything else. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (isAbsent(value) || (Array.isArray(value) && value.length === 0)) return {};
  return isObject(value) ? value : undefined;
}

/** Returns a text, or a number as text, since SDKs send numbers for ids and versions; undefined for anything else. */
export function textOrNumber(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const digits = numberText(value);
  return digits !== undefined && isKeptByDouble(digits) ? String(Number(digits)) : digits;
}

type Subject = Pick<Call, 'userId' | 'deviceId' | 'previousId'>;

/** Ids that systems give to many devices: zeros, as text or number, and one id that thousands of phones had. */
const NO_DEVICE = /^[0-]+(?:\.0+)?$|^9774d56d682e549c$/i;

/** Reads `userId`, and `context.device.id` or else `anonymousId`. A word for nothing (`undefined`) is no id. */
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

export function isNoDevice(id: unknown): boolean {
  return isNoId(id) || NO_DEVICE.test(textOrNumber(id) ?? '');
}

function readDevice(field: string, id: unknown): { id: string | null } | CallError {
  return isNoDevice(id) ? { id: null } : readId(field, id);
}

export function isNoId(id: unknown): boolean {
  return isAbsent(id) || (typeof id === 'string' && isWordForNothing(id));
}

export function readId(field: string, value: unknown): { id: string | null } | CallError {
  if (isNoId(value)) return { id: null };
  const id = textOrNumber(value);
  if (id === undefined) return invalid(field, 'must be a text or a number');
  const error = newCustomerIdError(id);
  return error === undefined ? { id } : invalid(field, error.replace('the customer id', 'it'));
}
