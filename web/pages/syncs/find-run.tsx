import { useParams } from '@tanstack/react-router';
import { Head } from '../../parts/head.tsx';
import { LeadTo } from '../../parts/lead-to.tsx';
import { Shown } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';

/** Leads from the id of a run, which names no sync, to the page of the run. */
export function FindRun() {
  const { run = '' } = useParams({ strict: false });
  const found = useRead('findSyncRun', { params: { run_id: run } });
  return (
    <Shown result={found} head={<Head title="Run of a sync" within={{ title: 'Syncs', to: '/syncs', name: run }} />}>
      {({ sync_id, run_id }) => <LeadTo to={`/syncs/${sync_id}/runs/${run_id}`} />}
    </Shown>
  );
}
