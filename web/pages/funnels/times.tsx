/** The time from one step of a funnel to the next: half, nine in ten, and a histogram on a log axis. */
import { useState } from 'react';
import type { FunnelStats, FunnelTimes } from '../../../api/client.ts';
import { Bars } from '../../parts/bars.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { secondsText } from './words.ts';

export function Times({ stats }: { stats: readonly FunnelStats[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const timed = stats.filter(({ since_previous: times }) => times);
  const shown = timed.find(({ step }) => String(step) === chosen) ?? timed.at(-1);
  if (!shown) return null;
  const { median, nine_in_ten: nineInTen, histogram } = shown.since_previous!;
  const isIn = (seconds: number, { from, until }: Bar) => seconds >= from && seconds < until;
  return (
    <Panel title={`Time from step ${shown.step} to ${shown.step + 1}`}>
      <div className="body">
        {timed.length > 1 && (
          <Toggles
            label="To which step"
            value={String(shown.step)}
            choices={timed.map(({ step }) => ({ value: String(step), title: `To ${step + 1}` }))}
            onChange={setChosen}
          />
        )}
        <p className="marks second">
          <span>
            Half within <b className="n">{secondsText(median)}</b>
          </span>
          <span className="dashed">
            Nine in ten within <b className="n">{secondsText(nineInTen)}</b>
          </span>
        </p>
        <Bars
          what="people"
          of="time"
          bars={histogram.map((bar) => ({
            label: `${secondsText(bar.from)} to ${secondsText(bar.until)}`,
            value: bar.people,
            tone: 'accent' as const,
            ...(isIn(median, bar) && { note: 'half' }),
            ...(isIn(nineInTen, bar) && { note: 'nine in ten' }),
          }))}
          marks={[
            { label: `half within ${secondsText(median)}`, at: placeIn(histogram, median) },
            {
              label: `nine in ten within ${secondsText(nineInTen)}`,
              at: placeIn(histogram, nineInTen),
              isDashed: true,
            },
          ]}
        />
        <p className="small quiet">Each bar is about twice as long as the one before.</p>
      </div>
    </Panel>
  );
}

type Bar = FunnelTimes['histogram'][number];

/** Returns the place of a duration in bars from the start of the first one: 1.5 is the middle of the second. */
function placeIn(bars: readonly Bar[], seconds: number): number {
  const nth = bars.findIndex(({ until }) => seconds < until);
  if (nth === -1) return bars.length;
  const { from, until } = bars[nth]!;
  const share = from === 0 ? seconds / until : Math.log(seconds / from) / Math.log(until / from);
  return nth + Math.max(0, share);
}
