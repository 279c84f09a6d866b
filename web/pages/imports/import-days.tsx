/** The rows of imports by day over the last week, and their errors by type. */
import { CountTable, StackedBars } from '../../parts/bars.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';

const KINDS = [
  { label: 'ok', tone: 'ok' },
  { label: 'ignored', tone: 'neutral' },
  { label: 'failed', tone: 'bad' },
] as const;

export function ImportDays({ sor }: { sor: string | undefined }) {
  const counted = useRead('countImportRows', { query: sor === undefined ? {} : { sor_id: sor } });
  if (counted.data?.days.every(({ imports }) => imports === 0)) return null;
  return (
    <Panel title="Rows a day, UTC">
      <Shown result={counted}>
        {({ days }) => (
          <div className="body">
            <StackedBars
              what="rows"
              of="day"
              kinds={KINDS}
              stacks={days.map(({ day, rows }) => ({ label: day, counts: [rows.ok, rows.ignored, rows.failed] }))}
            />
            <Errors days={days} />
          </div>
        )}
      </Shown>
    </Panel>
  );
}

type Day = { day: string; errors_by_type: Record<string, number> };

function Errors({ days }: { days: readonly Day[] }) {
  const types = [...new Set(days.flatMap(({ errors_by_type: errors }) => Object.keys(errors)))].toSorted();
  if (types.length === 0) return null;
  return (
    <details>
      <summary className="small">Errors by type</summary>
      <div className="scroll" tabIndex={0} role="region" aria-label="Errors by type and day">
        <CountTable
          of="error"
          columns={days.map(({ day }) => day.slice(5))}
          rows={types.map((type) => ({
            label: type,
            counts: days.map(({ errors_by_type: errors }) => errors[type] ?? 0),
          }))}
        />
      </div>
    </details>
  );
}
