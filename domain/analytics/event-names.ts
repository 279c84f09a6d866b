import { didYouMean, sayUnknown } from '../text/say-unknown.ts';

const SHOWN_NAMES = 20;

export function eventNameError(name: string, known: ReadonlySet<string>): string | null {
  if (known.has(name)) return null;
  if (known.size === 0) return 'is unknown: the app has sent no event of this log_type yet';
  return known.size <= SHOWN_NAMES
    ? sayUnknown(name, [...known])
    : `is unknown${didYouMean(name, [...known])} GET /api/apps/<app>/event_definitions lists them`;
}
