/** A funnel's people by a property of their first step, each share with its 95 % interval. */
import type { FunnelStats } from '../../../api/client.ts';
import { Audited } from '../../parts/audited.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { countText, percentText } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { LessWork } from './less-work.tsx';
import type { Asked } from './use-counts.ts';
import { breakdownName, type CountedFunnel, OF_DETAIL, peopleText, stepName } from './words.ts';

type BreakdownProps = {
  funnel: CountedFunnel;
  asked: Asked;
  breakdown: string;
  /** Whether the answer that is shown is exact: this one is counted the same way. */
  isExact: boolean;
  all: readonly FunnelStats[];
};

export function BreakdownPanel(props: BreakdownProps) {
  const { breakdown } = props;
  const name = breakdownName(breakdown);
  return (
    <Panel
      title={`By ${name.charAt(0).toLowerCase()}${name.slice(1)}`}
      footer="Shares of those who began. Up and down: apart from all by more than both intervals."
    >
      {breakdown.startsWith(OF_DETAIL) ? (
        <Audited operation="quickFunnelStats" of={{ breakdown }} what="these values">
          {() => <Divided {...props} />}
        </Audited>
      ) : (
        <Divided {...props} />
      )}
    </Panel>
  );
}

function Divided({ funnel, asked, breakdown, isExact, all }: BreakdownProps) {
  const query = { ...asked, breakdown, mode: isExact ? ('accurate' as const) : ('fast' as const) };
  const read = useRead('quickFunnelStats', { query, body: { funnel } });
  const result = read.isPlaceholderData ? { ...read, data: undefined } : read;
  return (
    <Shown result={result} offers={<LessWork refusal={read.error} asked={asked} isExact={isExact} />}>
      {(stats) => (
        <div className="scroll" tabIndex={0} role="region" aria-label="People by value">
          <table className="heat">
            <thead>
              <tr>
                <th scope="col">{breakdownName(breakdown)}</th>
                <th scope="col" className="num">
                  Began
                </th>
                {funnel.steps.slice(1).map((step, nth) => (
                  <th key={nth} scope="col" className="num">
                    {nth + 2}. {stepName(step)}
                  </th>
                ))}
                <th scope="col" className="num">
                  ± 95 %
                </th>
              </tr>
            </thead>
            <tbody>
              {byValue(stats).map((rows) => (
                <ValueRow
                  key={String(rows[0]!.breakdown)}
                  title={rows[0]!.breakdown ?? 'no value'}
                  rows={rows}
                  all={all}
                />
              ))}
              <ValueRow title="All" rows={all} all={all} isAll />
            </tbody>
          </table>
        </div>
      )}
    </Shown>
  );
}

function byValue(stats: readonly FunnelStats[]): FunnelStats[][] {
  return [...Map.groupBy(stats, ({ breakdown }) => breakdown).values()];
}

function ValueRow({
  title,
  rows,
  all,
  isAll = false,
}: {
  title: string;
  rows: readonly FunnelStats[];
  all: readonly FunnelStats[];
  isAll?: boolean;
}) {
  const [first, ...others] = rows;
  return (
    <tr>
      <td>{isAll ? <b>{title}</b> : title}</td>
      <td className="h">{peopleText(first!)}</td>
      {others.map((row) => (
        <td key={row.step} className="h">
          <Share row={row} all={all[row.step]!} first={first!} />
        </td>
      ))}
      <td className="h quiet">{pointsText(rows.at(-1)!.share_error)}</td>
    </tr>
  );
}

/** Returns half of an interval in percentage points. */
const pointsText = (error: number | null): string => (error === null ? '–' : countText(Math.round(error * 1_000) / 10));

function Share({ row, all, first }: { row: FunnelStats; all: FunnelStats; first: FunnelStats }) {
  const apart = (row.share ?? 0) - (all.share ?? 0);
  const isApart = Math.abs(apart) > (row.share_error ?? 1) + (all.share_error ?? 0);
  const text = percentText(row.completions, first.completions);
  if (!isApart) return text;
  return (
    <span className={apart > 0 ? 'hi' : 'lo'}>
      <Icon name={apart > 0 ? 'up' : 'down'} />
      {text}
      <span className="sr">{apart > 0 ? ' above all' : ' below all'}</span>
    </span>
  );
}
