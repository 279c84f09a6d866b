/** A call's context: app, device, place, time zone, push token. */

import { MINUTE_MS } from '../time/durations.ts';
import { isObject, numberText } from '../json/exact-json.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { type ZoneClock, zoneClock } from '../time/date-value.ts';
import { type Fields, textOrNumber } from './call-fields.ts';
import type { CallContext } from './call.ts';
import { shorten } from '../text/text-limits.ts';
import { isWordForNothing } from '../attributes/customer-id.ts';

/** Reads a call's context (Segment spec, common fields); a missing or malformed member is null. */
export function readContext(context: Fields, happenedAt: number): CallContext {
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

function partOf(context: Fields, name: string): Fields {
  const part = context[name];
  return isObject(part) ? part : {};
}

const LOCALE = /^(?<lang>[a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?<country>[a-z]{2}))?(?![a-z\d])/i;
const COUNTRY = /^[a-z]{2}$/i;

/** Reads the country of the place, or else of the locale. A country's name is no code, so it counts as unknown. */
function readLocale(locale: unknown, placeCountry: unknown): Pick<CallContext, 'lang' | 'country'> {
  const { lang, country } = LOCALE.exec(wordOf(locale) ?? '')?.groups ?? {};
  const code = wordOf(placeCountry) ?? country ?? '';
  return { lang: lang?.toLowerCase() ?? null, country: COUNTRY.test(code) ? code.toUpperCase() : null };
}

function readPlace(location: Fields): Pick<CallContext, 'latitude' | 'longitude'> {
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

type Platform = CallContext['platform'];

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

/** Android's limit for tablets: the shorter side of the screen, in density-independent pixels. */
const TABLET_DP = 600;

/** Returns the kind of device. Browsers count by `userAgentData.mobile`, not by user agent. Screens are in pixels. */
function idiomOf(context: Fields, platform = platformOf(context)): CallContext['idiom'] {
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

function word(context: Fields, part: string, name: string): string {
  const of = context[part];
  return isObject(of) ? (sharedWordOf(of[name])?.toLowerCase() ?? '') : '';
}

const FIXED = /^(?:GMT|UTC)?(?<sign>[+-])(?<hours>\d{1,2}):?(?<minutes>\d{2})?$/;

/** More than there are zones, since unknown names are remembered as well. */
const MAX_ZONES = 2_000;
type Zone = { name: string; clock: ZoneClock };
const zones = new Map<string, Zone | null>();

/** Returns the offset in minutes east of UTC of an IANA zone, or of Android's GMT+02:00; null if it is neither. */
export function utcOffsetOf(timezone: unknown, instantMs: number): number | null {
  if (typeof timezone !== 'string' || timezone.length > 64) return null;
  if (timezone === 'GMT' || timezone === 'UTC') return 0;
  const fixed = FIXED.exec(timezone)?.groups;
  if (fixed !== undefined) return fixedOffset(fixed);
  const zone = zoneNamed(timezone);
  return zone && Math.round(zone.clock.offsetAt(instantMs) / MINUTE_MS);
}

/** Returns the IANA name of a zone in its proper case, which gives its offset on other days; null if it is none. */
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

/** Makes each zone once, by its proper name: Intl takes 50 µs, and Luxon keeps 60 KB for each spelling. */
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

/** Returns the zone's name as IANA spells it. If Intl answers with an older name, only the case of ours changes. */
function properName(zone: string): string {
  const proper = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  const [one, other] = [zone.toLowerCase(), proper.toLowerCase()];
  return one === other
    ? proper
    : one.replaceAll(/[a-z0-9+]+/g, (word) => WORDS[word] ?? word[0]!.toUpperCase() + word.slice(1));
}

/** Words of zone names that don't have exactly one capital letter. */
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

const MAX_SHOWN = 256;

/** Returns a short text, cut to 256 characters and storable; null if there is none. */
function wordOf(value: unknown): string | null {
  const text = value === undefined ? null : trimmedTextOf(value);
  return text === null ? null : shorten(text, MAX_SHOWN);
}

/** Maximum length of a push token: FCM and APNs tokens and browsers' subscriptions have a few hundred characters. */
const MAX_TOKEN = 4_096;

/** How iOS prints a token: with all of its bytes, or since iOS 13 with the first and last ones. */
const DESCRIBED = /^<([\da-f ]*)>$/i;

const DESCRIBED_IN_PART = /^\{ ?length ?= ?\d+, ?bytes ?= ?0x/;

/** Returns a push token: a browser's subscription as JSON, or the bytes that iOS prints; null if some are left out. */
export function pushTokenOf(value: unknown): string | null {
  const text = isObject(value) ? JSON.stringify(value) : trimmedTextOf(value);
  if (text === null || text.length > MAX_TOKEN || DESCRIBED_IN_PART.test(text)) return null;
  return shorten(DESCRIBED.exec(text)?.[1]?.replaceAll(' ', '') ?? text, MAX_TOKEN) || null;
}

/** Longer texts are hardly ever shared. */
const MAX_KNOWN_LENGTH = 32;

const MAX_KNOWN = 2_000;

const known = new Map<string, string | null>();

/** Does as `wordOf`, and remembers texts that many devices share; never a person's own data. */
function sharedWordOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_KNOWN_LENGTH) return wordOf(value);
  let word = known.get(value);
  if (word === undefined) {
    word = wordOf(value);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(value, word);
  }
  return word;
}

function trimmedTextOf(value: unknown): string | null {
  const text = textOrNumber(value)?.trim();
  return text === undefined || text === '' || isWordForNothing(text) ? null : text;
}
