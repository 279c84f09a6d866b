/** A day of an exporter: each of its windows with the balance of its rows, its manifest and its files. */
import { useEffect, useRef } from 'react';
import type { ReconciledFile, ReconciledWindow } from '../../../api/client.ts';
import { Balance, type Tone } from '../../parts/balance.tsx';
import { dayText } from '../../parts/calendar.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { bytesText, Count, Id, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { RerunButton, RUNS_QUERY } from './exporter-runs.tsx';
import { keyOf, LOOKS, stateOf } from './window-state.ts';

export function DayDetail({
  id,
  day,
  windows,
  onClose,
}: {
  id: string;
  day: string;
  windows: readonly ReconciledWindow[];
  onClose: () => void;
}) {
  const detail = useRef<HTMLDivElement>(null);
  useEffect(() => {
    detail.current?.scrollIntoView({ block: 'nearest' });
  }, [day]);
  return (
    <div ref={detail}>
      <Panel
        title={dayText(day)}
        end={
          <button type="button" className="btn plain" onClick={onClose}>
            <Icon name="close" />
            Close
          </button>
        }
      >
        {windows.length === 0 && <Empty says="No window of these weeks covers this day." />}
        {windows.map((window) => (
          <OneWindow key={keyOf(window)} id={id} window={window} />
        ))}
      </Panel>
    </div>
  );
}

function OneWindow({ id, window }: { id: string; window: ReconciledWindow }) {
  const runs = useRead('listExportRuns', { params: { exporter_id: id }, query: RUNS_QUERY });
  const { run, manifest, types } = window;
  const { start, end } = window.window;
  return (
    <>
      <div className="body">
        <div className="head">
          <WindowChip window={window} />
          <span className="second small">{LOOKS[stateOf(window)].says}</span>
          {run !== null && window.state === 'exported' && (
            <div className="actions">
              <RerunButton id={id} run={run} runs={runs.data?.items ?? []} />
            </div>
          )}
        </div>
        <div className="facts">
          <span>
            from {start === null ? <b>the beginning</b> : <When at={start} />} until <When at={end} />
          </span>
          {run !== null && (
            <span>
              run <Id value={run} />
            </span>
          )}
        </div>
        {manifest !== null && (
          <div className="facts">
            <span>
              manifest <code className="wraps">{manifest.key}</code> <InBucket state={manifest.state} />
            </span>
            <span>
              SHA-256 <Id value={manifest.sha256} isShort />
            </span>
          </div>
        )}
        {types.length > 0 && <Rows window={window} />}
      </div>
      {types.length > 0 && <Types types={types} />}
      {types.some(({ files }) => files.length > 0) && <Files types={types} />}
    </>
  );
}

const TONES = ['accent', 'info', 'ok', 'neutral'] as const;

/** Shows what the rows of the window are, with those that are in no file. */
function Rows({ window: { rows, types } }: { window: ReconciledWindow }) {
  const late = types.reduce((sum, type) => sum + (type.late ?? 0), 0);
  const isCounted = types.every((type) => type.late !== null);
  const parts = types.map(({ type, written }, index) => ({
    label: type,
    count: written,
    tone: TONES[index % TONES.length]!,
  }));
  return (
    <Balance
      total={rows + late}
      what="rows of this window"
      parts={[...parts, ...(late > 0 ? [{ label: 'late, in no file', count: late, tone: 'warn' as const }] : [])]}
      note={
        late > 0
          ? 'Export the window again to have the late rows in its files.'
          : isCounted
            ? 'No row came late.'
            : 'The next run counts rows that came late.'
      }
    />
  );
}

function Types({ types }: { types: ReconciledWindow['types'] }) {
  return (
    <DataTable
      caption="Types of data in this window"
      columns={[
        { title: 'Type', cell: ({ type }) => type },
        {
          title: 'Expected',
          isNumber: true,
          cell: ({ expected }) => (expected === null ? <span className="quiet">–</span> : <Count value={expected} />),
        },
        { title: 'In files', isNumber: true, cell: ({ written }) => <Count value={written} /> },
        {
          title: 'Late',
          isNumber: true,
          cell: ({ late }) => (late === null ? <span className="quiet">not counted</span> : <Count value={late} />),
        },
        { title: 'Agrees', cell: ({ expected, written }) => <Agrees expected={expected} written={written} /> },
      ]}
      rows={types}
      keyOf={({ type }) => type}
      empty={null}
    />
  );
}

function Agrees({ expected, written }: { expected: number | null; written: number }) {
  if (expected === null) return <span className="quiet">not counted</span>;
  if (expected === written) return <Chip tone="ok">as counted</Chip>;
  return (
    <>
      <Chip tone="warn">{written - expected > 0 ? `+${written - expected}` : String(written - expected)}</Chip> people
      were erased or rows changed between counting and writing
    </>
  );
}

function Files({ types }: { types: ReconciledWindow['types'] }) {
  return (
    <DataTable
      caption="Files of this window"
      columns={[
        { title: 'File', cell: ({ key }: ReconciledFile) => <code className="wraps">{key}</code> },
        { title: 'Rows', isNumber: true, cell: ({ rows }) => <Count value={rows} /> },
        { title: 'Size', isNumber: true, cell: ({ bytes }) => bytesText(bytes) },
        { title: 'SHA-256', cell: ({ sha256 }) => <Id value={sha256} isShort /> },
        { title: 'Bucket', cell: ({ state }) => <InBucket state={state} /> },
      ]}
      rows={types.flatMap(({ files }) => files)}
      keyOf={({ key }) => key}
      empty={null}
    />
  );
}

const FOUND: Record<string, readonly [Tone, string]> = {
  ok: ['ok', 'there'],
  missing: ['bad', 'gone'],
  differs: ['bad', 'another file'],
  not_signed: ['bad', 'not signed'],
  unchecked: ['neutral', 'not compared'],
};

function InBucket({ state }: { state: string | null }) {
  const [tone, word] = FOUND[state ?? 'unchecked']!;
  return <Chip tone={tone}>{word}</Chip>;
}

export function WindowChip({ window }: { window: ReconciledWindow }) {
  const { tone, word, says } = LOOKS[stateOf(window)];
  return (
    <span title={says}>
      <Chip tone={tone}>{word}</Chip> {window.reason}
    </span>
  );
}
