/** One exporter: is each day in the bucket, whole? Its runs, its settings without secrets, its deletion lists. */
import { useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { ViewedDataExporter } from '../../../api/client.ts';
import { AsCommand, quoted } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { ExporterDays } from './exporter-days.tsx';
import { Runs } from './exporter-runs.tsx';
import { DeletionLists, Policy, Settings } from './exporter-settings.tsx';
import { ActivityButton, DeleteExporter, ExporterState, placeText } from './exporters.tsx';
import { addDays, dayOf } from './window-state.ts';

export function Exporter() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const exporter = useRead('viewDataExporter', { params: { exporter_id: id }, query: { secrets: false } });
  return (
    <Shown result={exporter} head={<Head title="Exporter" within={{ title: 'Exports', to: '/exports', name: id }} />}>
      {(shown) => <One key={shown.identifier} exporter={shown} />}
    </Shown>
  );
}

function One({ exporter }: { exporter: ViewedDataExporter }) {
  const { identifier, bucket_name, subfolder, exported_until, next_run_at, paused_reason, format } = exporter;
  const prefix = [subfolder, identifier].filter((part) => part !== '').join('/');
  return (
    <>
      <Head
        title={exporter.name}
        within={{ title: 'Exports', to: '/exports', name: identifier }}
        state={<ExporterState exporter={exporter} />}
        actions={<Actions exporter={exporter} />}
        facts={
          <>
            <Id value={identifier} />
            <span>
              into <b>{placeText(bucket_name, subfolder)}</b>
            </span>
            <span>
              {exporter.exported_data.join(', ')} as {format}
            </span>
            <span>
              exported until <When at={exported_until} />
            </span>
            <span>
              next run <When at={next_run_at} />
            </span>
          </>
        }
      />
      {paused_reason !== null && (
        <p className="note bad" role="status">
          <Icon name="crash" />
          Its daily runs are paused: {paused_reason} Mend that, then press Resume.
        </p>
      )}
      <ExporterDays exporter={exporter} />
      <div className="cols">
        <div className="stack">
          <Runs id={identifier} />
          <DeletionLists id={identifier} />
        </div>
        <aside className="stack">
          <Settings exporter={exporter} />
          <Policy id={identifier} />
          <AsCommand
            operation="reconcileExports"
            params={{ exporter_id: identifier }}
            cli={[
              `millrace exporters view ${identifier}`,
              `millrace exporters windows ${identifier}`,
              `millrace exporters runs ${identifier}`,
              `millrace exporters run ${identifier}`,
              `millrace exporters backfill ${identifier} \\\n  --from <day> --to <day>`,
              `millrace exporters verify \\\n  --bucket ${bucket_name} \\\n  --prefix ${quoted(prefix)}`,
            ]}
            manual="exports"
          />
        </aside>
      </div>
    </>
  );
}

function Actions({ exporter }: { exporter: ViewedDataExporter }) {
  const [isBackfilling, setBackfilling] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const run = useAction('runDataExporter', { changes: ['listExportRuns'] });
  return (
    <>
      <ActionButton
        operation="runDataExporter"
        kind="main"
        isBusy={run.isPending}
        onPress={() => run.mutate({ params: { exporter_id: exporter.identifier } })}
      >
        Run now
      </ActionButton>
      <ActionButton operation="backfillExports" onPress={() => setBackfilling(true)}>
        Backfill days
      </ActionButton>
      <ActivityButton exporter={exporter} />
      <ActionButton operation="deleteDataExporter" kind="danger" onPress={() => setDeleting(true)}>
        Delete
      </ActionButton>
      {run.error && <Refused refusal={run.error} />}
      {isBackfilling && <Backfill exporter={exporter} onClose={() => setBackfilling(false)} />}
      {isDeleting && <DeleteExporter exporter={exporter} onClose={() => setDeleting(false)} />}
    </>
  );
}

function Backfill({
  exporter: { identifier, time_zone },
  onClose,
}: {
  exporter: ViewedDataExporter;
  onClose: () => void;
}) {
  const backfill = useAction('backfillExports', { changes: ['listExportRuns'], onDone: onClose });
  const today = dayOf(new Date(), time_zone);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    backfill.mutate({
      params: { exporter_id: identifier },
      body: { from: textOf(form, 'from'), to: textOf(form, 'to') },
    });
  };
  return (
    <Dialog title="Backfill days" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <p className="second">
          Exports what happened on these days, however late it came, into the folder{' '}
          <code>backfill/&lt;from&gt;_&lt;to&gt;</code>. Daily windows do not change.
        </p>
        <div className="two">
          <Field label="From" name="from" type="date" max={today} defaultValue={addDays(today, -7)} required />
          <Field
            label="To, included"
            name="to"
            type="date"
            max={today}
            defaultValue={addDays(today, -1)}
            required
            hint={`Days in ${time_zone}, at most 400.`}
          />
        </div>
        <FormEnd refusal={backfill.error} isOff={backfill.isPending} onClose={onClose}>
          Backfill
        </FormEnd>
      </form>
    </Dialog>
  );
}
