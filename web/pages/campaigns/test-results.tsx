/** The results of a test, device by device, in words. */
import type { AttemptCode } from '../../../domain/sends/attempt.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty } from '../../parts/panel.tsx';
import type { ResultOf } from '../../session/calls.ts';

type TestedDevice = ResultOf<'viewCampaignTest'>['results'][number];
type Result = Pick<TestedDevice, 'code' | 'delivered_at' | 'opened_at' | 'shown_at' | 'clicked_at'>;

const WORDS: Partial<Record<AttemptCode, { word: string; tone: Tone }>> = {
  PUSH_SENT: { word: 'taken by the provider', tone: 'accent' },
  UNKNOWN: { word: 'unknown', tone: 'unknown' },
  REFUSED: { word: 'refused', tone: 'bad' },
  PENDING: { word: 'waiting', tone: 'info' },
  INAPP_AVAILABLE: { word: 'in the app', tone: 'info' },
};

/** Returns whether the device said that it got the message. */
export function isConfirmed({ delivered_at, opened_at, shown_at, clicked_at }: Result): boolean {
  return [delivered_at, opened_at, shown_at, clicked_at].some((at) => at !== null);
}

/** Returns the outcome of a message to a device in a word. */
function outcomeOf(result: Result): { word: string; tone: Tone } {
  if (isConfirmed(result)) return { word: 'confirmed by the device', tone: 'ok' };
  return WORDS[result.code] ?? { word: 'not sent', tone: 'neutral' };
}

/** Returns how many results have each outcome: `2 confirmed by the device, 1 taken by the provider`. */
export function summaryOf(results: readonly Result[]): string {
  const counts = Map.groupBy(results, (result) => outcomeOf(result).word);
  return [...counts].map(([word, all]) => `${all.length} ${word}`).join(', ') || 'none yet';
}

export function TestResults({
  results,
  nameOf,
}: {
  results: readonly TestedDevice[];
  nameOf: (variant: string) => string;
}) {
  if (results.length === 0) return <Empty says="No device of these users has the app." />;
  return (
    <ul className="body checks" aria-label="Results of the test">
      {results.map((result) => (
        <li key={`${result.user} ${result.device_id} ${result.channel}`} className="tight">
          <span className="wraps">
            {result.user === null ? 'erased person' : <code>{result.user}</code>}
            {result.device_id !== null && <code className="quiet"> {result.device_id}</code>}
          </span>
          <span className="chips">
            <Chip tone={outcomeOf(result).tone}>{outcomeOf(result).word}</Chip>
            {result.variant !== null && <span className="small quiet">{nameOf(result.variant)}</span>}
          </span>
          <span className="small second wraps">{result.details ?? result.reason}</span>
        </li>
      ))}
    </ul>
  );
}
