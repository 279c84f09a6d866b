import { sayUnknown } from '../core/say-unknown.ts';

const SHOWN_NAMES = 20;

/** What is wrong with the name of an event where an app has sent those of the names `known`; null: nothing. */
export function eventNameError(name: string, known: readonly string[]): string | null {
  if (known.includes(name)) return null;
  if (known.length === 0) return 'is unknown: the app has sent no event of this log_type yet';
  return known.length <= SHOWN_NAMES ? sayUnknown(name, [...known])
    : `${sayUnknown(name, [...known]).replace(/\? There are .*$/s, '')}? GET /api/apps/<app>/event_definitions lists them`;
}
