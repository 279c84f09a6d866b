import { MINUTE_MS } from '../core/durations.ts';
import { numberText } from '../core/exact-json.ts';
import { isTimeZone } from '../core/time-zone.ts';
import { type ZoneClock, zoneClock } from '../core/zone-clock.ts';
import {
  type CallError,
  type Fields,
  fieldsOf,
  invalid,
  isObject,
  pushTokenOf,
  sharedWordOf,
  wordOf,
} from './call-fields.ts';
import type { TrackedContext } from './call.ts';

/** A call's own context over its batch's: of an object in both the call's members go before the batch's. */
export function mergeContexts(given: unknown, ofBatch: Fields = {}): { context: Fields } | CallError {
  const own = fieldsOf(given);
  if (own === undefined) return invalid('context', 'must be an object');
  const context: Record<string, unknown> = { ...ofBatch };
  for (const [name, value] of Object.entries(own)) {
    const beneath = context[name];
    context[name] = isObject(value) && isObject(beneath) ? { ...beneath, ...value } : value;
  }
  return { context };
}

/** A part of a context; what isn't an object tells nothing. */
export function partOf(context: Fields, name: string): Fields {
  const part = context[name];
  return isObject(part) ? part : {};
}

/**
 * What a call's context tells (Segment spec, common fields: context). What it doesn't tell, or not in the form that it
 * should have, is null: a call isn't refused for it.
 */
export function readContext(context: Fields, happenedAt: number): TrackedContext {
  const part = (name: string) => partOf(context, name);
  const [app, device, os, location] = [part('app'), part('device'), part('os'), part('location')];
  const platform = platformOf(context);
  return {
    appNamespace: wordOf(app.namespace),
    appVersion: sharedWordOf(app.version),
    sdkVersion: sharedWordOf(part('library').version),
    platform,
    idiom: idiomOf(context, platform),
    osVersion: sharedWordOf(os.version),
    deviceType: sharedWordOf(device.type),
    deviceModel: sharedWordOf(device.model),
    carrier: sharedWordOf(part('network').carrier),
    ...readLocale(context.locale, location.country),
    city: wordOf(location.city),
    ...readPlace(location),
    utcOffset: utcOffsetOf(context.timezone, happenedAt),
    timezone: zoneNameOf(context.timezone),
    pushToken: pushTokenOf(device.token),
    optIn: readFlag(device.pushEnabled),
    optOut: readFlag(context.optOut),
  };
}

const LOCALE = /^(?<lang>[a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?<country>[a-z]{2}))?(?![a-z\d])/i;
const COUNTRY = /^[a-z]{2}$/i;

/** The country of the place goes before that of the locale; a country's name is no code, and then none is known. */
function readLocale(locale: unknown, placeCountry: unknown): Pick<TrackedContext, 'lang' | 'country'> {
  const { lang, country } = LOCALE.exec(wordOf(locale) ?? '')?.groups ?? {};
  const code = wordOf(placeCountry) ?? country ?? '';
  return { lang: lang?.toLowerCase() ?? null, country: COUNTRY.test(code) ? code.toUpperCase() : null };
}

function readPlace(location: Fields): Pick<TrackedContext, 'latitude' | 'longitude'> {
  const latitude = readDegrees(location.latitude, 90);
  const longitude = readDegrees(location.longitude, 180);
  return latitude === null || longitude === null ? { latitude: null, longitude: null } : { latitude, longitude };
}

function readDegrees(value: unknown, most: number): number | null {
  const degrees = Number(numberText(value) ?? Number.NaN);
  return Math.abs(degrees) <= most ? degrees : null;
}

function readFlag(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

type Platform = TrackedContext['platform'];

const BY_DEVICE_TYPE = new Map<string, Platform>([
  ['ios', 'iOS App'],
  ['ipados', 'iOS App'],
  ['tvos', 'iOS App'],
  ['watchos', 'iOS App'],
  ['visionos', 'iOS App'],
  ['android', 'Android App'],
  ['web', 'Web App'],
  ['browser', 'Web App'],
]);
const BY_OS = new Map<string, Platform>([
  ['ios', 'iOS App'],
  ['iphone os', 'iOS App'],
  ['ipados', 'iOS App'],
  ['tvos', 'iOS App'],
  ['watchos', 'iOS App'],
  ['visionos', 'iOS App'],
  ['android', 'Android App'],
  ['wear os', 'Android App'],
]);
const BY_LIBRARY = new Map<string, Platform>([
  ['analytics-ios', 'iOS App'],
  ['analytics-swift', 'iOS App'],
  ['analytics-android', 'Android App'],
  ['analytics-kotlin', 'Android App'],
]);

/** The kind of app: a browser's library says it, whatever it runs on; else the device, its system, or the library. */
function platformOf(context: Fields): Platform {
  const library = word(context, 'library', 'name');
  if (library === 'analytics.js') return 'Web App';
  return (
    BY_DEVICE_TYPE.get(word(context, 'device', 'type')) ??
    BY_OS.get(word(context, 'os', 'name')) ??
    BY_LIBRARY.get(library) ??
    null
  );
}

/** Android calls a screen a tablet's from so many of its independent pixels on, on the shorter side. */
const TABLET_DP = 600;

/**
 * The kind of device. Apple's by their model and system; Android's by their system, their type, and the size of the
 * screen, which Segment's libraries send in pixels; a browser's only where it says itself that it is mobile
 * (`userAgentData.mobile`): user agents are not read.
 */
function idiomOf(context: Fields, platform = platformOf(context)): TrackedContext['idiom'] {
  const [type, os, model] = [
    word(context, 'device', 'type'),
    word(context, 'os', 'name'),
    word(context, 'device', 'model'),
  ];
  if (type === 'watchos' || os === 'watchos' || model.startsWith('watch')) return 'watch-app';
  if (type === 'ipados' || os === 'ipados' || model.startsWith('ipad')) return 'pad';
  if (os === 'wear os' || type === 'wearable') return 'wearable';
  if (type === 'tablet' || type === 'phone') return type;
  if (platform === 'Android App') return isTablet(context.screen) ? 'tablet' : 'phone';
  if (platform === 'iOS App') return type === 'ios' || os === 'ios' || os === 'iphone os' ? 'phone' : null;
  return isObject(context.userAgentData) && context.userAgentData.mobile === true ? 'phone' : null;
}

function isTablet(screen: unknown): boolean {
  if (!isObject(screen)) return false;
  const [width, height, density] = [screen.width, screen.height, screen.density].map((value) =>
    Number(numberText(value) ?? Number.NaN),
  );
  return density! > 0 && Math.min(width!, height!) / density! >= TABLET_DP;
}

/** Of a device, its system or its library, in lower case; empty where it isn't told. */
function word(context: Fields, part: string, name: string): string {
  const of = context[part];
  return isObject(of) ? (sharedWordOf(of[name])?.toLowerCase() ?? '') : '';
}

const FIXED = /^(?:GMT|UTC)?(?<sign>[+-])(?<hours>\d{1,2}):?(?<minutes>\d{2})?$/;

/** More than there are zones: what is none is remembered, too. */
const MAX_ZONES = 2_000;
type Zone = { name: string; clock: ZoneClock };
const zones = new Map<string, Zone | null>();

/**
 * Minutes east of UTC of a `context.timezone` at an instant: a zone of the IANA database, or a fixed offset as Android
 * writes one, such as GMT+02:00. Null for what is none.
 */
export function utcOffsetOf(timezone: unknown, instantMs: number): number | null {
  if (typeof timezone !== 'string' || timezone.length > 64) return null;
  if (timezone === 'GMT' || timezone === 'UTC') return 0;
  const fixed = FIXED.exec(timezone)?.groups;
  if (fixed !== undefined) return fixedOffset(fixed);
  const zone = zoneNamed(timezone);
  return zone && Math.round(zone.clock.offsetAt(instantMs) / MINUTE_MS);
}

/**
 * The name of a zone of the IANA database in its proper case, by which its clocks are known on other days, too; null
 * for what is none.
 */
export function zoneNameOf(timezone: unknown): string | null {
  return typeof timezone === 'string' && timezone.length <= 64 && !FIXED.test(timezone)
    ? (zoneNamed(timezone)?.name ?? null)
    : null;
}

function fixedOffset({ sign, hours, minutes = '0' }: Record<string, string | undefined>): number | null {
  const offset = Number(hours) * 60 + Number(minutes);
  if (Number(hours) > 14 || Number(minutes) > 59) return null;
  return sign === '-' && offset > 0 ? -offset : offset;
}

/**
 * Remembered: to ask takes Intl some 50 µs. Zones are read in any case, but made once, by their proper name: Luxon
 * keeps each spelling that it was ever asked for, with 60 KB.
 */
function zoneNamed(name: string): Zone | null {
  if (!/^[A-Z]/.test(name)) return null;
  const spelled = name.toLowerCase();
  let zone = zones.get(spelled);
  if (zone === undefined) {
    const proper = isTimeZone(name) ? properName(name) : null;
    zone = proper === null ? null : { name: proper, clock: zoneClock(proper) };
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(spelled, zone);
  }
  return zone;
}

/**
 * Returns the zone's name as the IANA database spells it, in one spelling for each name. Intl answers with the older of
 * two names, such as Asia/Calcutta for Asia/Kolkata: the name stays the device's own, and the case of its letters alone
 * changes.
 */
function properName(zone: string): string {
  const proper = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  const [one, other] = [zone.toLowerCase(), proper.toLowerCase()];
  return one === other
    ? proper
    : one.replaceAll(/[a-z0-9+]+/g, (word) => WORDS[word] ?? word[0]!.toUpperCase() + word.slice(1));
}

/** Words of names that are spelled in another way than with one capital letter. */
const WORDS: Record<string, string> = Object.fromEntries(
  [
    'of',
    'es',
    'au',
    'US',
    'UTC',
    'UCT',
    'GMT',
    'ACT',
    'LHI',
    'NSW',
    'DeNoronha',
    'ComodRivadavia',
    'EasterIsland',
    'BajaNorte',
    'BajaSur',
  ].map((word) => [word.toLowerCase(), word]),
);
