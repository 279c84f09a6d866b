/** The form of a sync, new or known: checked by the server, saved with the revision that it was opened at. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { Sync } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ChangedByOthers } from '../../parts/changed-by-others.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import type { Refusal } from '../../session/api.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { useSettings } from '../../session/settings.ts';
import { bodyOf, changesOf, differing, type Draft, draftOf, emptyDraft, rebased } from './sync-draft.ts';
import { DestinationPanel, SourcePanel } from './sync-ends.tsx';
import { errorsBy, inWordsOfForm, nameInForm, type StreamField, SyncFormProvider, TextField } from './sync-fields.tsx';
import { MappingPanel } from './sync-mapping.tsx';
import { MorePanel, ReadingPanel, SchedulePanel } from './sync-options.tsx';

const CHANGED = ['listSyncs', 'viewSync'] as const;

export function NewSync() {
  const { connection = '' } = useSearch({ strict: false });
  const { session } = useSession();
  const { zone } = useSettings();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => ({ ...emptyDraft(connection, zone), emails: session.user.email }));
  const create = useAction('createSync', {
    changes: CHANGED,
    onDone: ({ identifier }) => void navigate({ to: `/syncs/${identifier}` }),
  });
  return (
    <>
      <Head
        title="New sync"
        within={{ title: 'Syncs', to: '/syncs', name: 'new' }}
        facts={
          <span>It copies a stream of a connection, again and again. First make it, then try it by a dry run.</span>
        }
      />
      <SyncForm
        draft={draft}
        onDraft={setDraft}
        refusal={create.error}
        isBusy={create.isPending}
        onSave={() => create.mutate({ body: bodyOf(draft) })}
        command={
          <AsCommand
            operation="createSync"
            body={bodyOf(draft)}
            cli={['millrace syncs add sync.yaml']}
            manual="syncs"
          />
        }
      />
    </>
  );
}

export function EditSync() {
  const { id = '' } = useParams({ strict: false });
  const read = useRead('viewSync', { params: { sync_id: id } });
  return (
    <Shown result={read} head={<Head title="Edit a sync" within={{ title: 'Syncs', to: '/syncs', name: id }} />}>
      {(sync) => <Editor sync={sync} onStale={() => void read.refetch()} />}
    </Shown>
  );
}

function Editor({ sync, onStale }: { sync: Sync; onStale: () => void }) {
  const { zone } = useSettings();
  const navigate = useNavigate();
  const params = { sync_id: sync.identifier };
  const [base, setBase] = useState(sync);
  const [draft, setDraft] = useState(() => draftOf(sync, zone));
  const update = useAction('updateSync', {
    changes: CHANGED,
    onDone: () => void navigate({ to: `/syncs/${sync.identifier}` }),
  });
  const load = (next: Draft): void => {
    setBase(sync);
    setDraft(next);
    update.reset();
  };
  const before = draftOf(base, zone);
  const theirs = draftOf(sync, zone);
  const isNewer = sync.revision !== base.revision && !update.isPending && !update.isSuccess;
  // Without changes of this tab's own there is nothing to keep.
  if (isNewer && differing(before, draft).length === 0) load(theirs);
  const body = { ...changesOf(before, draft), revision: base.revision };
  return (
    <>
      <Head title={`Edit ${base.name}`} within={{ title: base.name, to: `/syncs/${sync.identifier}`, name: 'edit' }} />
      <SyncForm
        draft={draft}
        onDraft={setDraft}
        known={base}
        refusal={isNewer ? null : update.error}
        isBusy={update.isPending}
        onSave={() => update.mutate({ params, body }, { onError: ({ http }) => http === 409 && onStale() })}
        note={
          isNewer && (
            <ChangedByOthers
              what="sync"
              refusal={update.error}
              mine="Reload, and keep my changes"
              onTheirs={() => load(theirs)}
              onMine={() => load(rebased(before, draft, theirs))}
            >
              <TheirChanges members={differing(before, theirs)} />
            </ChangedByOthers>
          )
        }
        command={
          <AsCommand
            operation="updateSync"
            params={params}
            body={body}
            cli={[`millrace syncs view ${sync.identifier} > sync.yaml`, 'millrace sync apply sync.yaml']}
            manual="syncs"
          />
        }
      />
    </>
  );
}

function TheirChanges({ members }: { members: readonly (keyof Draft)[] }) {
  return members.length > 0 && <span>They changed: {members.map((name) => MEMBERS[name]).join(', ')}.</span>;
}

const MEMBERS: Record<keyof Draft, string> = {
  name: 'name',
  connection: 'source connection',
  stream: 'source stream',
  to: 'destination',
  sor: 'System of Records',
  toConnection: 'destination connection',
  toStream: 'destination stream',
  key: 'key',
  customerField: 'field of the person',
  customerType: 'type of the person',
  fields: 'fields',
  otherFields: 'other fields',
  empty: 'empty texts',
  mode: 'what a run reads',
  cursorField: 'cursor field',
  removes: 'removals',
  removalLimit: 'removal limit',
  when: 'schedule',
  every: 'minutes between runs',
  cron: 'cron',
  zone: 'zone',
  jitter: 'delay of starts',
  schemaRule: 'rule on changed fields',
  emails: 'mails',
  alertConnections: 'alert connections',
  failedRecords: 'alert on failed records',
  pauseAfter: 'pause',
};

function SyncForm({
  draft,
  onDraft,
  known,
  refusal,
  isBusy,
  onSave,
  note,
  command,
}: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  /** The sync that is edited. */
  known?: Sync;
  refusal: Refusal | null;
  isBusy: boolean;
  onSave: () => void;
  note?: ReactNode;
  command: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  const validate = useAction('validateSync');
  const [asked, setAsked] = useState<'save' | 'check'>('save');
  const refused = asked === 'save' ? refusal : validate.error;
  const shown = useMemo(() => refused && inWordsOfForm(refused), [refused]);
  const [checked, setChecked] = useState<Draft | null>(null);
  useEffect(() => {
    const named = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    named?.closest('details')?.setAttribute('open', '');
    named?.focus();
  }, [shown]);
  const save = (event: FormEvent): void => {
    event.preventDefault();
    validate.reset();
    setAsked('save');
    setChecked(draft);
    onSave();
  };
  const check = (): void => {
    setAsked('check');
    setChecked(draft);
    validate.mutate({ body: { ...bodyOf(draft), ...(known ? { sync_id: known.identifier } : {}) } });
  };
  return (
    <SyncFormProvider
      value={{
        draft,
        change: (changed) => onDraft({ ...draft, ...changed }),
        errorAt: errorsBy(shown),
        checked,
        knownFields: knownFieldsOf(known, draft),
      }}
    >
      <div className="cols">
        <form ref={form} className="stack" onSubmit={save} noValidate>
          <Panel title="What it is called">
            <div className="body">
              <TextField
                name="name"
                at="name"
                label="Name"
                hint="As the lists show it, such as Customers of the shop"
              />
            </div>
          </Panel>
          <SourcePanel />
          <DestinationPanel />
          <MappingPanel />
          <ReadingPanel />
          <SchedulePanel />
          <MorePanel />
          <Ending known={known} note={note} refusal={shown} isRight={validate.isSuccess && checked === draft}>
            <ActionButton operation="validateSync" isBusy={validate.isPending || isBusy} onPress={check}>
              Check
            </ActionButton>
            <button type="submit" className="btn main" disabled={isBusy}>
              {known ? 'Save' : 'Create the sync'}
            </button>
          </Ending>
        </form>
        {command}
      </div>
    </SyncFormProvider>
  );
}

/** Shows what the server said of the definition, and the ways out of the form. */
function Ending({
  known,
  note,
  refusal,
  isRight,
  children,
}: {
  known: Sync | undefined;
  note: ReactNode;
  refusal: Refusal | null;
  isRight: boolean;
  children: ReactNode;
}) {
  return (
    <Panel title={known ? 'Save' : 'Create'}>
      <div className="body">
        {note}
        {refusal && <Refused refusal={refusal} nameOf={nameInForm} />}
        {isRight && (
          <p className="note good" role="status">
            <Icon name="check" />
            <span>
              <b>The definition is right.</b> Nothing is saved yet.
            </span>
          </p>
        )}
        <div className="controls">
          <Link className="btn" to={known ? `/syncs/${known.identifier}` : '/syncs'}>
            Leave it
          </Link>
          {children}
        </div>
      </div>
    </Panel>
  );
}

/** Returns the fields that runs found, unless the draft reads another stream by now. */
function knownFieldsOf(known: Sync | undefined, { connection, stream }: Draft): StreamField[] | null {
  if (known?.source.connection !== connection || known.source.stream !== stream) return null;
  return known.fields;
}
