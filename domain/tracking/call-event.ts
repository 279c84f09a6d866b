import { type Json, plainJson } from '../core/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, storable } from '../core/text-limits.ts';
import { type CallError, type Fields, fieldsOf, invalid, isAbsent, isCallError, textOrNumber } from './call-fields.ts';
import { crashOf, type Sha256 } from './crash-report.ts';
import type { CallType, TrackedEvent } from './tracked-call.ts';

/** Events of Segment's mobile spec that tell of an app's going and coming. */
const TRANSITIONS = new Map<string, 'background' | 'foreground'>([
  ['Application Backgrounded', 'background'],
  ['Application Opened', 'foreground'],
  ['Application Foregrounded', 'foreground'],
]);
const CRASH = 'Application Crashed';

type Detail = { [member: string]: Json };

/** The event that a call is: of track by its name, of page and screen by Segment's naming for them, of others none. */
export function readEvent(type: CallType, fields: Fields, sha256: Sha256): { event: TrackedEvent | null } | CallError {
  if (type !== 'track' && type !== 'page' && type !== 'screen') return { event: null };
  const properties = fieldsOf(fields.properties);
  if (properties === undefined) return invalid('properties', 'must be an object');
  const name = type === 'track' ? readName('event', fields.event) : readView(type, fields, properties);
  if (isCallError(name)) return name;
  const detail = plainJson(properties) as Detail;
  return { event: type === 'track' ? trackedEvent(name.name, detail, sha256) : plainEvent(name.name, detail) };
}

/** An empty map tells nothing: null. */
function plainEvent(name: string, properties: Detail): TrackedEvent {
  const detail = Object.keys(properties).length === 0 ? null : properties;
  return { logType: 2, name, detail, fingerprint: null, crashTitle: null, transition: null };
}

function trackedEvent(name: string, properties: Detail, sha256: Sha256): TrackedEvent {
  const event = plainEvent(name, properties);
  const { log_type: logType } = properties;
  if (name === CRASH || logType === 1 || logType === 'error') {
    return { ...event, logType: 1, ...crashOf(name, properties, sha256) };
  }
  const transition = TRANSITIONS.get(name);
  return transition === undefined ? event : { ...event, logType: 3, transition };
}

function readName(field: string, value: unknown): { name: string } | CallError {
  if (isAbsent(value)) return invalid(field, 'must stand in a track call: it is the name of the event');
  if (typeof value !== 'string') return invalid(field, 'must be a text');
  return isLongerThan(value, MAX_CODE_POINTS) ? tooLong(field) : { name: storable(value) };
}

/** `Viewed <category> <name> Page`: both may stand in the call or in its properties. */
function readView(type: 'page' | 'screen', fields: Fields, properties: Fields): { name: string } | CallError {
  const words: string[] = [];
  for (const field of ['category', 'name']) {
    const value = isAbsent(fields[field]) ? properties[field] : fields[field];
    if (isAbsent(value)) continue;
    const word = textOrNumber(value);
    if (word === undefined) return invalid(field, 'must be a text');
    words.push(word);
  }
  const what = type === 'page' ? 'Page' : 'Screen';
  const name = words.length === 0 ? `Loaded a ${what}` : `Viewed ${words.join(' ')} ${what}`;
  return isLongerThan(name, MAX_CODE_POINTS)
    ? tooLong('name', ` in "Viewed <category> <name> ${what}"`)
    : { name: storable(name) };
}

function tooLong(field: string, where = ''): CallError {
  return invalid(field, `must have at most ${MAX_CODE_POINTS} characters${where}`);
}
