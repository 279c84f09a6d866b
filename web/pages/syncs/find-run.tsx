import { Navigate, useParams } from '@tanstack/react-router';
import { Shown } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';

/** Leads from the id of a run, which names no sync, to the page of the run. */
export function FindRun() {
  const { run = '' } = useParams({ strict: false });
  const found = useRead('findSyncRun', { params: { run_id: run } });
  return (
    <Shown result={found}>
      {({ sync_id, run_id }) => <Navigate to={`/syncs/${sync_id}/runs/${run_id}`} replace />}
    </Shown>
  );
}
