/** The data exporters of the entity: which run, when next, and what is missing in their buckets. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ListedDataExporter } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { NewExporter } from './new-exporter.tsx';

export function Exporters() {
  const exporters = useRead('listDataExporters', {});
  const [isMaking, setMaking] = useState(false);
  const make = (
    <ActionButton operation="createDataExporter" kind="main" onPress={() => setMaking(true)}>
      New exporter
    </ActionButton>
  );
  return (
    <>
      <Head
        title="Exports"
        facts={<span>Each day into a bucket of yours, with a signed manifest.</span>}
        actions={make}
      />
      <Panel title="Exporters">
        <Shown result={exporters}>{(rows) => <List rows={rows} />}</Shown>
      </Panel>
      <AsCommand
        operation="listDataExporters"
        cli={[
          'millrace exporters list',
          'millrace exporters add <name> --settings settings.json',
          'millrace exporters verify --bucket <name> --prefix <subfolder>/<exporter>',
        ]}
        manual="exports"
      />
      {isMaking && <NewExporter onClose={() => setMaking(false)} />}
    </>
  );
}

function List({ rows }: { rows: readonly ListedDataExporter[] }) {
  const [deleted, setDeleted] = useState<ListedDataExporter | null>(null);
  return (
    <>
      <DataTable
        caption="Data exporters"
        columns={[
          { title: 'Exporter', cell: (exporter) => <Named exporter={exporter} /> },
          { title: 'State', cell: (exporter) => <ExporterState exporter={exporter} /> },
          { title: 'Exported until', cell: ({ exported_until }) => <When at={exported_until} /> },
          { title: 'Next run', cell: ({ next_run_at }) => <When at={next_run_at} /> },
          { title: 'Missing', cell: (exporter) => <Missing exporter={exporter} /> },
          {
            title: 'Actions',
            cell: (exporter) => (
              <span className="filters">
                <ActivityButton exporter={exporter} />
                <ActionButton operation="deleteDataExporter" kind="danger" onPress={() => setDeleted(exporter)}>
                  Delete
                </ActionButton>
              </span>
            ),
          },
        ]}
        rows={rows}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty
            says="No exporter yet. Make one, give its key or role the rights that its policy names, and activate it."
            command="millrace exporters list"
          />
        }
      />
      {deleted && <DeleteExporter exporter={deleted} onClose={() => setDeleted(null)} />}
    </>
  );
}

function Named({
  exporter: { identifier, name, bucket_name, subfolder, exported_data: kinds },
}: {
  exporter: ListedDataExporter;
}) {
  return (
    <>
      <Link to={`/exports/${encodeURIComponent(identifier)}`}>{name}</Link>
      <br />
      <code className="quiet">{placeText(bucket_name, subfolder)}</code>
      <br />
      <span className="small second">{kinds.join(', ')}</span>
    </>
  );
}

export function placeText(bucket: string, subfolder: string): string {
  return subfolder === '' ? bucket : `${bucket}/${subfolder}`;
}

export function ExporterState({
  exporter: { active, paused_at, failures },
}: {
  exporter: Pick<ListedDataExporter, 'active' | 'paused_at' | 'failures'>;
}) {
  if (!active) return <Chip tone="neutral">not active</Chip>;
  if (paused_at !== null) return <Chip tone="bad">paused by failures</Chip>;
  if (failures > 0) return <Chip tone="warn">{failures === 1 ? '1 run failed' : `${failures} runs failed`}</Chip>;
  return <Chip tone="ok">active</Chip>;
}

function Missing({ exporter: { missing_window: missing } }: { exporter: ListedDataExporter }) {
  if (missing === null) return <span className="quiet">nothing due</span>;
  return (
    <>
      <Chip tone="bad">due</Chip> {missing.start === null ? 'all data' : <>from {<When at={missing.start} />}</>} until{' '}
      <When at={missing.end} />
    </>
  );
}

/** Activates an exporter that does not run, or stops its daily runs. */
export function ActivityButton({
  exporter: { identifier, active, paused_at },
}: {
  exporter: Pick<ListedDataExporter, 'identifier' | 'active' | 'paused_at'>;
}) {
  const changes = ['listDataExporters', 'viewDataExporter', 'listExportRuns', 'reconcileExports'] as const;
  const [activate, deactivate] = [
    useAction('activateDataExporter', { changes }),
    useAction('deactivateDataExporter', { changes }),
  ];
  const input = { params: { exporter_id: identifier } };
  const refusal = activate.error ?? deactivate.error;
  const isRunning = active && paused_at === null;
  return (
    <>
      {isRunning ? (
        <ActionButton
          operation="deactivateDataExporter"
          isBusy={deactivate.isPending}
          onPress={() => deactivate.mutate(input)}
        >
          Deactivate
        </ActionButton>
      ) : (
        <ActionButton
          operation="activateDataExporter"
          isBusy={activate.isPending}
          onPress={() => activate.mutate(input)}
        >
          {activate.isPending ? 'Testing the bucket' : active ? 'Resume' : 'Activate'}
        </ActionButton>
      )}
      {refusal && <Refused refusal={refusal} />}
    </>
  );
}

export function DeleteExporter({
  exporter: { identifier, name },
  onClose,
}: {
  exporter: Pick<ListedDataExporter, 'identifier' | 'name'>;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const remove = useAction('deleteDataExporter', {
    changes: ['listDataExporters'],
    onDone: () => {
      onClose();
      void navigate({ to: '/exports' });
    },
  });
  return (
    <Confirm
      title={`Delete ${name}?`}
      says="Its daily exports end, a run under way is canceled, and its secrets are deleted. The files stay in the bucket."
      word={name}
      action="Delete the exporter"
      isBusy={remove.isPending}
      refusal={remove.error}
      onConfirm={() => remove.mutate({ params: { exporter_id: identifier } })}
      onClose={onClose}
    />
  );
}
