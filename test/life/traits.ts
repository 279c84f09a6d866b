import { inferValueType } from '../../domain/attributes/infer-value-type.ts';
import type { LifeEntity } from './life.ts';

/**
 * The traits that calls of SDKs send, in the model of values: as texts, which a value keeps when its attribute becomes
 * a String.
 */

type SdkCall = Record<string, unknown>;

/** Traits for the global System of Records, which the model leaves out. */
const GLOBAL = new Set(['email']);

/** Notes what calls may write before they are sent, since they may arrive without an answer. */
export function noteSent({ traits }: LifeEntity, calls: readonly SdkCall[]): void {
  for (const [ordinal, sdkCall] of calls.entries()) {
    const saidAt = Date.parse(sdkCall.timestamp as string);
    for (const [attribute, value] of traitsOf(sdkCall)) {
      // Where there is no such attribute yet, nothing keeps in mind that its value was removed.
      const isIgnorable = value === null && !traits.isKnown(attribute);
      traits.addUncertain({
        person: sdkCall.userId as string,
        attribute,
        value: shownText(value),
        type: inferValueType(value),
        way: 'trait',
        job: isIgnorable ? 'ignored' : (sdkCall.messageId as string),
        place: { batch: calls, ordinal },
        sentAt: saidAt,
        acknowledgedAt: saidAt,
      });
    }
  }
}

export function noteAccepted({ traits }: LifeEntity, calls: readonly SdkCall[]): void {
  for (const { messageId } of calls) traits.ended(messageId as string, { isComplete: true });
}

/** The attributes of the app's System of Records that a call gives a value or removes. An empty text is no value. */
function traitsOf({ type, traits = {}, groupId }: SdkCall): [attribute: string, value: unknown][] {
  const own = Object.entries(traits as object)
    .filter(([key]) => !GLOBAL.has(key))
    .flatMap(([key, value]): [string, unknown][] =>
      isObject(value) ? Object.entries(value).map(([member, inner]) => [`${key}.${member}`, inner]) : [[key, value]],
    )
    .filter(([, value]) => value !== '');
  return type === 'group'
    ? [['group_id', groupId], ...own.map(([key, value]): [string, unknown] => [`group_${key}`, value])]
    : own;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as text, whatever the type of its attribute; null for none, as for a Set that was emptied. */
export function shownText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(';');
  return String(value as string | number | boolean);
}
