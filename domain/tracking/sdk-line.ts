/** The line of an app's code that made a call, and the line that would make one that is accepted. */
import { isObject } from '../json/exact-json.ts';
import { shorten } from '../text/text-limits.ts';
import { fieldsOf } from './call-fields.ts';
import type { RefusalCode } from './call.ts';
import { fieldOfRefusal, typeOfCall } from './call-readings.ts';

export type RefusalFix = {
  /** Advice in a sentence. */
  says: string;
  /** The line as the SDK has it, and as it would be accepted; null if no line is at fault. */
  line: { was: string; is: string } | null;
};

type Fields = Readonly<Record<string, unknown>>;
type Sdk = 'browser' | 'node' | 'python' | 'swift' | 'kotlin';
type Mended = { says: string; change: Fields };

const USER = '<id of the user>';

/** Values for fields that the server could not read. */
const BY_FIELD: Record<string, Mended> = {
  event: { says: 'Give the event a name.', change: { event: '<name of the event>' } },
  type: { says: 'Name one of the calls.', change: { type: 'track', event: '<name of the event>' } },
  userId: { says: 'Send the id of the user as a text.', change: { userId: USER } },
  anonymousId: { says: 'Send the id of the device as a text.', change: { anonymousId: '<id of the device>' } },
  previousId: { says: 'Name the id that the user had before.', change: { previousId: '<id before>' } },
  groupId: { says: 'Name the group.', change: { groupId: '<id of the group>' } },
  name: { says: 'Give the page a name, a text.', change: { name: '<name>', properties: undefined } },
  category: { says: 'Give the page a category, a text.', change: { category: '<category>', properties: undefined } },
  properties: { says: 'Send properties as an object.', change: { properties: { '<property>': '<value>' } } },
  traits: { says: 'Send traits as an object.', change: { traits: { '<trait>': '<value>' } } },
  timestamp: { says: 'Send the time in ISO 8601, or none.', change: { timestamp: '2026-03-01T12:00:00.000Z' } },
};

const BY_CODE: Record<Exclude<RefusalCode, 'invalid' | 'nobody' | 'unknown_app'>, string> = {
  too_large: 'Leave out what is large: a call has at most 32 KiB as JSON.',
  too_old: 'Send records of the past to /v1/import, within the time that the entity keeps events.',
  in_the_future: "Check the clock of the sender. An SDK sends sentAt, by which the server corrects a device's clock.",
  erased: 'Nothing to change: this person was erased, and stays so.',
  too_many_aliases: 'Call alias once for each person, when they sign up: an id has at most 100 aliases.',
};

/** Says what to change so that a call like this is accepted. `call`: its JSON, which may be cut, or null. */
export function fixOfRefusal({
  code,
  message,
  call,
  packageName,
}: {
  code: RefusalCode;
  message: string;
  call: string | null;
  packageName: string;
}): RefusalFix {
  if (code !== 'invalid' && code !== 'nobody' && code !== 'unknown_app') return { says: BY_CODE[code], line: null };
  const named = fieldOfRefusal(message);
  const field = named?.field ?? '';
  const given = parsed(call);
  const mended: Mended | undefined =
    code === 'nobody'
      ? { says: 'Say who it was: a user, or a device.', change: { userId: USER } }
      : code === 'unknown_app'
        ? {
            says: 'Several apps share the key: name the app by its package name.',
            change: { context: { app: { namespace: packageName } } },
          }
        : mendedField(field, given);
  if (named?.field === 'body')
    return { says: `The body ${named.says}. Send what JSON.stringify makes of the call.`, line: null };
  if (mended === undefined) return { says: `Send what it says: ${message}.`, line: null };
  return { says: mended.says, line: given === null ? null : linesOf(given, mended.change) };
}

function mendedField(field: string, given: Fields | null): Mended | undefined {
  const name = given?.['name'];
  // Pages and screens have a name, events do not.
  if (field === 'event' && typeof name === 'string')
    return { says: 'Send the name of the event as event.', change: { name: undefined, event: name } };
  return BY_FIELD[field === 'originalTimestamp' || field === 'sentAt' ? 'timestamp' : field];
}

function parsed(call: string | null): Fields | null {
  try {
    const value: unknown = JSON.parse(call ?? '');
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function linesOf(given: Fields, change: Fields): RefusalFix['line'] {
  const sdk = sdkOf(given);
  const changed = Object.keys(change);
  // Other than the Node and Python ones, SDKs send the user of the last identify.
  const isByIdentify = 'userId' in change && sdk !== 'node' && sdk !== 'python' && typeOfCall(given) !== 'identify';
  const was = lineOf(sdk, given, changed);
  const is = isByIdentify ? `${identifyLine(sdk)}\n${was}` : lineOf(sdk, { ...given, ...change }, changed);
  return was === is ? null : { was, is };
}

function sdkOf(call: Fields): Sdk {
  const library = fieldsOf(fieldsOf(call['context'])?.['library'])?.['name'];
  const name = typeof library === 'string' ? library : '';
  if (name === 'analytics.js') return 'browser';
  return (['python', 'swift', 'kotlin'] as const).find((sdk) => name.includes(sdk)) ?? 'node';
}

const identifyLine = (sdk: Sdk): string =>
  `analytics.identify(${sdk === 'swift' ? 'userId: ' : ''}${quoted(USER, quoteOf(sdk))})`;

/** Members of each call that its line shows, in order. */
const MEMBERS = {
  track: ['event', 'properties'],
  identify: ['userId', 'traits'],
  page: ['category', 'name', 'properties'],
  screen: ['category', 'name', 'properties'],
  group: ['groupId', 'traits'],
  alias: ['userId', 'previousId'],
} as const;
const SNAKE: Record<string, string> = { userId: 'user_id', groupId: 'group_id', previousId: 'previous_id' };

function lineOf(sdk: Sdk, call: Fields, changed: readonly string[]): string {
  const type = typeOfCall(call) ?? 'track';
  const isNamed = sdk === 'node' || sdk === 'python';
  const names = isNamed ? ['userId', 'anonymousId', ...MEMBERS[type], ...changed] : MEMBERS[type];
  const shown = [...new Set<string>(names)].flatMap((name) => {
    const value = name === 'context' ? appOf(call) : call[name];
    return value === undefined || value === null ? [] : [[name, literal(value, sdk)] as const];
  });
  const list = (say: (name: string, value: string) => string): string =>
    shown.map(([name, value]) => say(name, value)).join(', ');
  if (sdk === 'node') return `analytics.${type}({ ${list((name, value) => `${name}: ${value}`)} })`;
  if (sdk === 'python') return `analytics.${type}(${list((name, value) => `${SNAKE[name] ?? name}=${value}`)})`;
  return sdk === 'swift'
    ? `analytics.${type}(${list((name, value) => `${name === 'event' ? 'name' : name}: ${value}`)})`
    : `analytics.${type}(${list((_, value) => value)})`;
}

function appOf(call: Fields): Fields | undefined {
  const namespace = fieldsOf(fieldsOf(call['context'])?.['app'])?.['namespace'];
  return namespace === undefined ? undefined : { app: { namespace } };
}

const MAX_SHOWN = 60;
const MAX_MEMBERS = 3;

function literal(value: unknown, sdk: Sdk): string {
  const quote = quoteOf(sdk);
  if (typeof value === 'string') return quoted(shorten(value, MAX_SHOWN), quote);
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const isBare = sdk === 'browser' || sdk === 'node';
  const members = Object.entries(value).map(([name, of]) => {
    const key = isBare && /^[A-Za-z_]\w*$/.test(name) ? name : quoted(name, quote);
    return `${key}: ${literal(of, sdk)}`;
  });
  if (members.length === 0) return '{}';
  return `{ ${members.slice(0, MAX_MEMBERS).join(', ')}${members.length > MAX_MEMBERS ? ', …' : ''} }`;
}

const quoteOf = (sdk: Sdk): string => (sdk === 'swift' || sdk === 'kotlin' ? '"' : "'");

const quoted = (text: string, quote: string): string => `${quote}${text.replaceAll(quote, `\\${quote}`)}${quote}`;
