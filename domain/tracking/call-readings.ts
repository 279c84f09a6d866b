/** Readings of a call, field by field as the server takes them, for people who look at a refused one. */
import { isObject } from '../json/exact-json.ts';
import { readContext } from './call-context.ts';
import { type CallError, fieldsOf, isAbsent, isCallError, readSubject } from './call-fields.ts';
import { readDeviceTime } from './call-time.ts';
import { readTraits } from './call-traits.ts';
import type { CallType } from './call.ts';
import { readEvent } from './read-call.ts';

/** `read`: null if there is nothing to read. `error`: why the field can't be read. */
export type FieldReading = { field: string; read: string | null; error: string | null };

/** Types by the member that only they have: a call by a path of its own, such as `/v1/track`, needs no type. */
const TYPE_BY_MEMBER = { event: 'track', previousId: 'alias', groupId: 'group', traits: 'identify' } as const;
const KNOWN_TYPES: readonly CallType[] = ['identify', 'track', 'page', 'screen', 'group', 'alias'];

/** Returns the type of a call, as it says or as its members show; undefined if neither does. */
export function typeOfCall(call: Readonly<Record<string, unknown>>): CallType | undefined {
  if (!isAbsent(call['type'])) return KNOWN_TYPES.find((type) => type === call['type']);
  return Object.entries(TYPE_BY_MEMBER).find(([member]) => member in call)?.[1];
}

/** Returns the field that a refusal's message names, and what it says of it; null: it names none. */
export function fieldOfRefusal(message: string): { field: string; says: string } | null {
  const [, field, says] = /^([A-Za-z.]+): (.+)$/su.exec(message) ?? [];
  return field === undefined ? null : { field, says: says! };
}

/**
 * Reads a call field by field. Other than the server, it goes on after the first field that can't be read. `refusal`:
 * the server's message, which knows more than the call does, such as the path it came by.
 */
export function readingsOf(given: unknown, receivedAtMs: number, refusal: string | null = null): FieldReading[] {
  const named = fieldOfRefusal(refusal ?? '');
  return readCall(given, receivedAtMs).map((one) =>
    one.field === named?.field && one.error === null ? { ...one, error: named.says } : one,
  );
}

function readCall(given: unknown, receivedAtMs: number): FieldReading[] {
  if (!isObject(given)) return [{ field: 'call', read: null, error: 'must be an object' }];
  const type = typeOfCall(given);
  const context = fieldsOf(given['context']) ?? {};
  const device = fieldsOf(context['device']) ?? {};
  const field = isAbsent(given['originalTimestamp']) ? 'timestamp' : 'originalTimestamp';
  const kind = type ?? 'identify';
  const isUnknown = type === undefined && !isAbsent(given['type']);
  return [
    { field: 'type', read: type ?? null, error: isUnknown ? 'names no call that Millrace knows' : null },
    ...subjectReadings(readSubject(kind, given, device)),
    eventReading(readEvent(kind, given, () => '')),
    reading(field, readDeviceTime(field, given[field]), ({ ms }) => new Date(ms ?? receivedAtMs).toISOString()),
    reading('properties', propertiesOf(given), ({ names }) => namesText(names)),
    reading('traits', readTraits(kind, given, context['traits']), ({ traits }) =>
      namesText([...new Set(traits.map(({ key }) => key))]),
    ),
    ...contextReadings(context, receivedAtMs),
  ];
}

function reading<T extends object>(field: string, outcome: T | CallError, say: (read: T) => string | null) {
  return isCallError(outcome)
    ? { field, read: null, error: outcome.message.replace(`${field}: `, '') }
    : { field, read: say(outcome), error: null };
}

function subjectReadings(subject: ReturnType<typeof readSubject>): FieldReading[] {
  if (isCallError(subject)) return [{ field: 'user or device', read: null, error: subject.message }];
  const { userId, deviceId, previousId } = subject;
  return [
    { field: 'user', read: userId, error: null },
    { field: 'device', read: deviceId, error: null },
    ...(previousId === null ? [] : [{ field: 'previousId', read: previousId, error: null }]),
  ];
}

function eventReading(outcome: ReturnType<typeof readEvent>): FieldReading {
  const ofEvent = reading('event', outcome, ({ event }) => event?.name ?? null);
  // The properties have a line of their own.
  return ofEvent.error?.startsWith('properties: ') ? { ...ofEvent, error: null } : ofEvent;
}

function propertiesOf(call: Readonly<Record<string, unknown>>): { names: string[] } | CallError {
  const properties = fieldsOf(call['properties']);
  return properties === undefined
    ? { code: 'invalid', message: 'must be an object' }
    : { names: Object.keys(properties) };
}

const namesText = (names: readonly string[]): string | null => (names.length === 0 ? null : names.join(', '));

/** Members of the context that were read: none of them refuses a call. */
function contextReadings(context: Readonly<Record<string, unknown>>, receivedAtMs: number): FieldReading[] {
  const { appNamespace, appVersion, platform, sdkVersion } = readContext(context, receivedAtMs);
  return Object.entries({
    'context.app.namespace': appNamespace,
    'context.app.version': appVersion,
    platform,
    'context.library.version': sdkVersion,
  }).flatMap(([field, read]) => (read === null ? [] : [{ field, read, error: null }]));
}
