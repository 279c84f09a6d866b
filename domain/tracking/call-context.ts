import { numberText } from '../core/exact-json.ts';
import { idiomOf, platformOf } from './call-device.ts';
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
import { utcOffsetOf, zoneNameOf } from './call-zone.ts';
import type { TrackedContext } from './tracked-call.ts';

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
