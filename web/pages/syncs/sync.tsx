/** One sync: whether it is on time, what its last run did, what changed, and what it copies. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Sync, SyncRun } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Balance } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { endText, partsOf, RunChip, SchemaChange, scheduleText } from './run-words.tsx';
import { Definition, OnTime } from './sync-facts.tsx';
import { History } from './sync-history.tsx';
import { SyncChip } from './syncs.tsx';

const CHANGED = ['viewSync', 'listSyncs', 'listSyncRuns'] as const;

export function SyncPage() {
  const { id = '' } = useParams({ strict: false });
  const params = { sync_id: id };
  const newest = useRead('listSyncRuns', { params, query: { per_page: '30' } }, { pollWhile: hasOpenRun });
  const runs = newest.data?.items ?? [];
  const isRunning = newest.data !== undefined && hasOpenRun(newest.data);
  const sync = useRead(
    'viewSync',
    { params },
    { pollWhile: ({ last_run }) => isRunning || last_run?.ended_at === null },
  );
  const last = runs.find(({ dry_run }) => !dry_run);
  return (
    <Shown result={sync} head={<Head title="Sync" within={{ title: 'Syncs', to: '/syncs', name: id }} />}>
      {(shown) => (
        <>
          <SyncHead sync={shown} isNew={newest.data?.items.length === 0} />
          <WhatNeedsYou sync={shown} last={last} />
          <Shown result={newest}>
            {() => (last ? <LastRun sync={shown} run={last} /> : <NeverRan sync={shown} />)}
          </Shown>
          <div className="cols">
            <History sync={shown} newest={newest.data} />
            <div className="stack">
              <OnTime sync={shown} runs={runs} />
              <Definition sync={shown} />
              <AsCommand
                operation="runSync"
                params={params}
                body={{}}
                cli={[
                  `millrace syncs run ${id}`,
                  `millrace syncs view ${id} > sync.yaml`,
                  'millrace sync apply sync.yaml',
                ]}
                manual="syncs"
              />
            </div>
          </div>
        </>
      )}
    </Shown>
  );
}

function hasOpenRun({ items }: { items: readonly SyncRun[] }): boolean {
  return items.some(({ ended_at }) => ended_at === null);
}

/** `isNew`: it never ran, and a dry run is what to do next. */
function SyncHead({ sync, isNew }: { sync: Sync; isNew: boolean }) {
  return (
    <Head
      within={{ title: 'Syncs', to: '/syncs', name: sync.identifier }}
      title={sync.name}
      state={<SyncChip sync={sync} />}
      actions={<Actions sync={sync} isNew={isNew} />}
      facts={
        <>
          <span>
            from <b>{endText(sync.source)}</b>
          </span>
          <span>
            to <b>{endText(sync.destination)}</b>
          </span>
          <span>
            runs <b>{scheduleText(sync)}</b>
          </span>
          <Id value={sync.identifier} />
        </>
      }
    />
  );
}

function Actions({ sync: { identifier, name, state }, isNew }: { sync: Sync; isNew: boolean }) {
  const params = { sync_id: identifier };
  const navigate = useNavigate();
  const toRun = ({ run_id }: SyncRun): void => void navigate({ to: `/syncs/${identifier}/runs/${run_id}` });
  const run = useAction('runSync', { changes: CHANGED, onDone: toRun });
  const dryRun = useAction('dryRunSync', { changes: CHANGED, onDone: toRun });
  const pause = useAction('pauseSync', { changes: CHANGED });
  const resume = useAction('resumeSync', { changes: CHANGED });
  const remove = useAction('deleteSync', { changes: ['listSyncs'], onDone: () => void navigate({ to: '/syncs' }) });
  const isBusy = [run, dryRun, pause, resume].some(({ isPending }) => isPending);
  const refused = [run, dryRun, pause, resume].find(({ error }) => error !== null)?.error;
  return (
    <>
      {refused && <Refused refusal={refused} />}
      <ConfirmButton
        operation="deleteSync"
        title={`Delete ${name}?`}
        says="Its schedule ends, its runs and their errors go. Records that it wrote stay where they are."
        yes="Delete the sync"
        typed={name}
        sent={remove}
        onYes={(options) => remove.mutate({ params }, options)}
      >
        Delete
      </ConfirmButton>
      {state === 'active' ? (
        <ActionButton operation="pauseSync" isBusy={isBusy} onPress={() => pause.mutate({ params })}>
          Pause
        </ActionButton>
      ) : (
        <ActionButton operation="resumeSync" isBusy={isBusy} onPress={() => resume.mutate({ params })}>
          Resume
        </ActionButton>
      )}
      <Link className="btn" to={`/syncs/${identifier}/edit`}>
        Edit
      </Link>
      <ActionButton
        operation="dryRunSync"
        kind={isNew ? 'main' : ''}
        isBusy={isBusy}
        onPress={() => dryRun.mutate({ params, body: {} })}
      >
        <Icon name="flask" />
        Dry run
      </ActionButton>
      <ActionButton
        operation="runSync"
        kind={isNew ? '' : 'main'}
        isBusy={isBusy}
        onPress={() => run.mutate({ params, body: {} })}
      >
        <Icon name="sync" />
        Run now
      </ActionButton>
    </>
  );
}

/** Shows why the sync is paused, changed fields that wait for a yes, and removals that a run held back. */
function WhatNeedsYou({ sync, last }: { sync: Sync; last: SyncRun | undefined }) {
  const isStopped = sync.state === 'paused' && sync.paused_reason !== null;
  return (
    <>
      {isStopped && (
        <div className="note warn" role="status">
          <Icon name="crash" />
          <span>
            Paused <When at={sync.paused_at} />: {sync.paused_reason}
          </span>
        </div>
      )}
      {last?.schema_change && <ChangedFields sync={sync} change={last.schema_change} />}
      {last?.removal?.state === 'held' && <HeldRemoval sync={sync} reason={last.removal.reason} />}
    </>
  );
}

function ChangedFields({ sync, change }: { sync: Sync; change: NonNullable<SyncRun['schema_change']> }) {
  const params = { sync_id: sync.identifier };
  const accept = useAction('acceptSyncSchema', { changes: CHANGED });
  return (
    <div className="note info" role="status">
      <Icon name="branch" />
      <div className="tight">
        <b>The last run found other fields in the source than before</b>
        <SchemaChange change={change} />
        <span className="small">{RULES[sync.on_schema_change]}</span>
        {accept.error && <Refused refusal={accept.error} />}
        {accept.isSuccess ? (
          <span>Accepted. The next run takes the fields as they are then.</span>
        ) : (
          <div>
            <ActionButton
              operation="acceptSyncSchema"
              isBusy={accept.isPending}
              onPress={() => accept.mutate({ params })}
            >
              Accept the fields
            </ActionButton>
          </div>
        )}
      </div>
    </div>
  );
}

const RULES: Record<Sync['on_schema_change'], string> = {
  stop: 'This sync stops until they are accepted.',
  ignore: 'This sync goes on with the fields that it knows.',
  follow: 'This sync takes them by itself.',
};

function HeldRemoval({ sync, reason }: { sync: Sync; reason: string | null }) {
  const navigate = useNavigate();
  const run = useAction('runSync', {
    changes: CHANGED,
    onDone: ({ run_id }) => void navigate({ to: `/syncs/${sync.identifier}/runs/${run_id}` }),
  });
  return (
    <div className="note warn" role="status">
      <Icon name="crash" />
      <div className="tight">
        <b>The last run removed nothing: {reason ?? 'too many records have vanished from the source'}</b>
        <span>At most {sync.removal_limit} % of the known records may vanish at once.</span>
        <div>
          <ConfirmButton
            operation="runSync"
            title="Remove what has vanished?"
            says="The run removes every record that the source no longer has, beyond the limit, too."
            yes="Run and remove"
            sent={run}
            onYes={(options) =>
              run.mutate({ params: { sync_id: sync.identifier }, body: { confirm_removals: true } }, options)
            }
          >
            Run and remove
          </ConfirmButton>
        </div>
      </div>
    </div>
  );
}

function LastRun({ sync, run }: { sync: Sync; run: SyncRun }) {
  const to = `/syncs/${sync.identifier}/runs/${run.run_id}`;
  const { failure, fault } = run;
  const parts = partsOf(run, to);
  return (
    <Balance
      total={run.records.read}
      what="records read by the last run"
      parts={parts}
      note={
        <>
          <RunChip run={run} /> <When at={run.ended_at ?? run.started_at ?? run.received_at} />
          {failure && ` ${failure.message}`}
          {fault !== null && ` ${fault}`}
        </>
      }
    />
  );
}

function NeverRan({ sync }: { sync: Sync }) {
  return (
    <Panel title="Last run">
      <Empty says={`${sync.name} never ran. A dry run shows what it would write, and writes nothing.`} />
    </Panel>
  );
}
