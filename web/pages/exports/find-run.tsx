import { useParams } from '@tanstack/react-router';
import { Head } from '../../parts/head.tsx';
import { LeadTo } from '../../parts/lead-to.tsx';
import { Shown } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';
import { lastDayOf } from './window-state.ts';

/** Leads from the id of a run, which names no exporter, to its exporter and the weeks of its window. */
export function FindExportRun() {
  const { run = '' } = useParams({ strict: false });
  const found = useRead('findExportRun', { params: { run_id: run } });
  return (
    <Shown
      result={found}
      head={<Head title="Run of an exporter" within={{ title: 'Exports', to: '/exports', name: run }} />}
    >
      {({ exporter, window }) => (
        <LeadTo to={`/exports/${exporter}`} search={{ until: lastDayOf(window.end, 'UTC') }} />
      )}
    </Shown>
  );
}
