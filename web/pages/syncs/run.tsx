/** One run of a sync: its balance, the records that failed, its log, and for a dry run a sample. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { SyncRun } from '../../../api/client.ts';
import { countRefused } from '../../../domain/syncs/refused-records.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { Balance } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { isOutside, OutsideFault } from '../../parts/outside.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Progress } from '../../parts/progress.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Timeline, type TimelineEntry } from '../../parts/timeline.tsx';
import { bytesText, countText, durationText, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { RunErrors } from './run-errors.tsx';
import { RunLog, RunRequests, RunSample } from './run-looks.tsx';
import { causeText, partsOf, RunChip, SchemaChange, stateText, tookMs, toneOf } from './run-words.tsx';

type RunParams = { sync_id: string; run_id: string };

export function RunPage() {
  const { id = '', run = '' } = useParams({ strict: false });
  const params = { sync_id: id, run_id: run };
  const sync = useRead('viewSync', { params: { sync_id: id } });
  const read = useRead('viewSyncRun', { params }, { pollWhile: ({ ended_at }) => ended_at === null });
  return (
    <Shown
      result={read}
      head={<Head title="Run of a sync" within={{ title: sync.data?.name ?? 'Sync', to: `/syncs/${id}`, name: run }} />}
    >
      {(shown) => (
        <>
          <RunHead run={shown} params={params} name={sync.data?.name ?? id} />
          <RunState run={shown} />
          <Balance
            total={shown.records.read}
            what={shown.dry_run ? 'records read, nothing written' : 'records read'}
            parts={partsOf(shown, '.')}
            note={noteOf(shown)}
          />
          <div className="cols">
            <div className="stack">
              {shown.dry_run && (
                <div id="sample">
                  <Panel title="What it would change">
                    <Audited operation="viewDryRunSample" what="these changes">
                      {() => <RunSample params={params} />}
                    </Audited>
                  </Panel>
                </div>
              )}
              <div id="errors">
                <RunErrors run={shown} params={params} />
              </div>
              {shown.requests > 0 && (
                <Panel title="Last requests" end={`${countText(shown.requests)} in all`}>
                  <Audited operation="listSyncRequests" what="the requests">
                    {() => <RunRequests params={params} />}
                  </Audited>
                </Panel>
              )}
              <Panel title="Log">
                <Audited operation="readSyncLog" what="the log">
                  {() => <RunLog params={params} />}
                </Audited>
              </Panel>
            </div>
            <div className="stack">
              <Panel title="What happened">
                <div className="body">
                  <Timeline entries={entriesOf(shown)} />
                </div>
              </Panel>
              <AsCommand
                operation="viewSyncRun"
                params={params}
                cli={[
                  `millrace syncs status ${run}`,
                  `millrace syncs errors ${run} --open`,
                  `millrace syncs redrive ${run}`,
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

function RunHead({ run, params, name }: { run: SyncRun; params: RunParams; name: string }) {
  const took = tookMs(run);
  return (
    <Head
      within={{ title: name, to: `/syncs/${params.sync_id}`, name: run.run_id }}
      title={`Run of ${name}`}
      state={<RunChip run={run} />}
      actions={<Actions run={run} params={params} />}
      facts={
        <>
          <span>{causeText(run)}</span>
          {took !== null && (
            <span>
              <b>{durationText(took)}</b>
              {run.ended_at === null && ' so far'}
            </span>
          )}
          <span>
            <b>{bytesText(run.bytes)}</b> from the source
          </span>
          {run.rate !== null && (
            <span>
              <b>{countText(run.rate)}</b> records a second
            </span>
          )}
        </>
      }
    />
  );
}

function Actions({ run, params }: { run: SyncRun; params: RunParams }) {
  const navigate = useNavigate();
  const cancel = useAction('cancelSyncRun', { changes: ['viewSyncRun', 'listSyncRuns', 'viewSync'] });
  const toRun = {
    changes: ['listSyncRuns', 'viewSync', 'viewSyncRun'],
    onDone: ({ run_id }: SyncRun) => void navigate({ to: `/syncs/${params.sync_id}/runs/${run_id}` }),
  } as const;
  const redrive = useAction('redriveSyncRun', toRun);
  const real = useAction('runSync', toRun);
  if (run.ended_at === null) {
    return (
      <ConfirmButton
        operation="cancelSyncRun"
        title="Cancel this run?"
        says="Records that it has written stay. The next run of an incremental sync continues where this one stopped."
        yes="Cancel the run"
        sent={cancel}
        onYes={(options) => cancel.mutate({ params }, options)}
      >
        Cancel
      </ConfirmButton>
    );
  }
  if (run.dry_run) {
    return (
      <>
        {real.error && <Refused refusal={real.error} />}
        <Link className="btn" to={`/syncs/${params.sync_id}/edit`}>
          Edit the sync
        </Link>
        <ActionButton
          operation="runSync"
          kind="main"
          isBusy={real.isPending}
          onPress={() => real.mutate({ params: { sync_id: params.sync_id }, body: {} })}
        >
          <Icon name="sync" />
          Run it now
        </ActionButton>
      </>
    );
  }
  const isDone = (run.open ?? 0) === 0;
  return isDone ? null : (
    <>
      {redrive.error && <Refused refusal={redrive.error} />}
      <ActionButton
        operation="redriveSyncRun"
        kind="main"
        isBusy={redrive.isPending}
        onPress={() => redrive.mutate({ params })}
      >
        <Icon name="branch" />
        Re-drive {run.open === 1 ? '1 record' : `${countText(run.open ?? 0)} records`}
      </ActionButton>
    </>
  );
}

/** Says why a run failed or waits, and how far it has come. */
function RunState({ run }: { run: SyncRun }) {
  const { failure, fault, waits_until, tries, internal_error, progress, expected_end_at, ended_at } = run;
  return (
    <>
      {failure && (
        <p className="note bad" role="status">
          <Icon name="crash" />
          <span>
            {isOutside(failure.status) ? (
              <OutsideFault status={failure.status}>{failure.message}</OutsideFault>
            ) : (
              <b>{failure.message}</b>
            )}{' '}
            <code>{failure.status}</code>
          </span>
        </p>
      )}
      {fault !== null && ended_at === null && (
        <p className={tries === 0 ? 'note info' : 'note warn'} role="status">
          <Icon name="clock" />
          <span>
            {fault}
            {fault.endsWith('.') ? ' ' : '. '}
            {tries === 0 ? (
              <>
                The run continues <When at={waits_until} />.
              </>
            ) : (
              <>
                Tried {countText(tries)} times, again <When at={waits_until} />.
              </>
            )}
          </span>
        </p>
      )}
      {internal_error && (
        <p className="note bad" role="status">
          <Icon name="crash" />
          <span>
            An error in Millrace itself, in {internal_error.step}, since <When at={internal_error.since} />. The logs
            have more under <code>{internal_error.id}</code>.
          </span>
        </p>
      )}
      {ended_at === null && progress !== null && (
        <Progress
          share={progress}
          label="Read of the source"
          note={
            expected_end_at === null ? undefined : (
              <>
                ends about <When at={expected_end_at} />
              </>
            )
          }
        />
      )}
    </>
  );
}

function noteOf({ records, open, dry_run, removed, suspicious_ids, odd_cursors, ...run }: SyncRun): React.ReactNode {
  const deletions = run.deletions_ignored;
  const refused = countRefused({ ...records, deletionsIgnored: deletions });
  return (
    [
      ...(refused > 0 && open !== null && !dry_run
        ? [
            `${countText(refused - open)} of the ${countText(refused)} that were not written came in by a re-drive since, ` +
              `or are of erased people; ${countText(open)} ${open === 1 ? 'is' : 'are'} open.`,
          ]
        : []),
      ...(removed > 0 ? [`${countText(removed)} records were removed: the source no longer has them.`] : []),
      ...(deletions > 0
        ? [`${countText(deletions)} of those ignored were deleted in the source, and this sync removes nothing.`]
        : []),
      ...(suspicious_ids > 0
        ? [`${countText(suspicious_ids)} were taken with an id that looks like no person's.`]
        : []),
      ...(odd_cursors > 0
        ? [`${countText(odd_cursors)} have a cursor that is no time or number of today: each run reads them again.`]
        : []),
    ].join(' ') || undefined
  );
}

function entriesOf(run: SyncRun): TimelineEntry[] {
  const { unmapped_fields, missing_fields, removal, schema_change, mail } = run;
  return [
    ...(run.scheduled_for === null ? [] : [{ at: run.scheduled_for, title: 'Its time by the schedule' }]),
    { at: run.received_at, title: 'Asked for', more: causeText(run) },
    ...(run.started_at === null ? [] : [{ at: run.started_at, title: 'Began' }]),
    ...(schema_change
      ? [
          {
            at: run.started_at,
            title: 'Fields changed',
            tone: 'info' as const,
            more: <SchemaChange change={schema_change} />,
          },
        ]
      : []),
    ...(missing_fields.length > 0
      ? [
          {
            at: null,
            title: 'Fields of the mapping that the source has not',
            tone: 'warn' as const,
            more: missing_fields.join(', '),
          },
        ]
      : []),
    ...(unmapped_fields.length > 0
      ? [{ at: null, title: 'Fields without an attribute, left out', more: unmapped_fields.join(', ') }]
      : []),
    ...(removal ? [{ at: null, title: `Removal ${removal.state}`, more: removal.reason ?? undefined }] : []),
    ...(run.ended_at === null ? [] : [{ at: run.ended_at, title: stateText(run), tone: toneOf(run) }]),
    ...(mail ? [{ at: null, title: `Mail: ${mail.state}` }] : []),
  ];
}
