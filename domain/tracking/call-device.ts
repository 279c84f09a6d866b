import { numberText } from '../core/exact-json.ts';
import { type Fields, isObject, sharedWordOf } from './call-fields.ts';
import type { TrackedContext } from './tracked-call.ts';

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
export function platformOf(context: Fields): Platform {
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
export function idiomOf(context: Fields, platform = platformOf(context)): TrackedContext['idiom'] {
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
