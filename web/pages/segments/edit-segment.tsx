/** The form of a segment, new or known: the builder with its counts, saved with the revision that it was opened at. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import type { Segment } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { AreaField, Field, SelectField } from '../../parts/field.tsx';
import { ChangedByOthers } from '../../parts/changed-by-others.tsx';
import { Head } from '../../parts/head.tsx';
import { Panel, Shown, Skeleton } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import type { Refusal } from '../../session/api.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { FilterBuilder } from '../analytics/filter-builder.tsx';
import { errorIn, FilterCounts, useFilterCount } from '../analytics/filter-count.tsx';
import { useNames } from '../analytics/filter-names.ts';
import { EVERYBODY, type Filters, isComplete, newBlock, readFilters } from '../analytics/filters.ts';
import { sentenceOf } from '../analytics/filter-words.ts';

const CHANGED = ['listSegments', 'viewSegment'] as const;

type Draft = { app: string; name: string; description: string; isList: boolean; filters: Filters };

const bodyOf = ({ name, description, isList, filters }: Draft) => ({
  name,
  description: description === '' ? null : description,
  ...(isList ? {} : { filters }),
});

export function NewSegment() {
  const { app = '', list } = useSearch({ strict: false }) as { app?: string; list?: string };
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>({
    app,
    name: '',
    description: '',
    isList: list !== undefined,
    filters: { ...EVERYBODY, blocks: [newBlock()] },
  });
  const create = useAction('createSegment', {
    changes: CHANGED,
    onDone: ({ identifier }) => void navigate({ to: `/segments/${identifier}` }),
  });
  const body = { ...bodyOf(draft), app: draft.app, ...(draft.isList && { static: true }) };
  return (
    <>
      <Head title="New segment" within={{ title: 'Segments', to: '/segments', name: 'new' }} />
      <SegmentForm
        draft={draft}
        onDraft={setDraft}
        isNew
        refusal={create.error}
        isBusy={create.isPending}
        onSave={() => create.mutate({ body })}
        command={
          <AsCommand
            operation="createSegment"
            body={body}
            cli={['millrace segments create segment.json']}
            manual="segments"
          />
        }
      />
    </>
  );
}

export function EditSegment() {
  const { id = '' } = useParams({ strict: false });
  const read = useRead('viewSegment', { params: { identifier: id } });
  return (
    <Shown
      result={read}
      head={<Head title="Change a segment" within={{ title: 'Segments', to: '/segments', name: id }} />}
    >
      {(segment) => <Editor key={segment.identifier} segment={segment} onStale={() => void read.refetch()} />}
    </Shown>
  );
}

const draftOf = ({ app, name, description, static: isList, filters }: Segment): Draft => ({
  app,
  name,
  description: description ?? '',
  isList,
  filters: readFilters(filters),
});

function Editor({ segment, onStale }: { segment: Segment; onStale: () => void }) {
  const navigate = useNavigate();
  const params = { identifier: segment.identifier };
  const [base, setBase] = useState(segment);
  const [draft, setDraft] = useState(() => draftOf(segment));
  const update = useAction('updateSegment', {
    changes: CHANGED,
    onDone: () => void navigate({ to: `/segments/${segment.identifier}` }),
  });
  const isStale = segment.revision !== base.revision && !update.isPending && !update.isSuccess;
  const body = { ...bodyOf(draft), revision: base.revision };
  const take = (next: Draft): void => {
    setBase(segment);
    setDraft(next);
    update.reset();
  };
  return (
    <>
      <Head
        title={`Change ${base.name}`}
        within={{ title: base.name, to: `/segments/${base.identifier}`, name: 'change' }}
      />
      <SegmentForm
        draft={draft}
        onDraft={setDraft}
        refusal={isStale ? null : update.error}
        isBusy={update.isPending}
        onSave={() => update.mutate({ params, body }, { onError: ({ http }) => http === 409 && onStale() })}
        note={
          isStale && (
            <ChangedByOthers
              what="segment"
              refusal={update.error}
              mine="Keep my changes, and drop theirs"
              onTheirs={() => take(draftOf(segment))}
              onMine={() => take(draft)}
            />
          )
        }
        command={
          <AsCommand
            operation="updateSegment"
            params={params}
            body={body}
            cli={[`millrace segments update ${base.identifier} segment.json`]}
            manual="segments"
          />
        }
      />
    </>
  );
}

function SegmentForm({
  draft,
  onDraft,
  isNew = false,
  refusal,
  isBusy,
  onSave,
  note,
  command,
}: {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  isNew?: boolean;
  refusal: Refusal | null;
  isBusy: boolean;
  onSave: () => void;
  note?: ReactNode;
  command: ReactNode;
}) {
  const { app, isList, filters } = draft;
  const isWhole = isComplete(filters);
  const count = useFilterCount(isList ? '' : app, filters, isWhole);
  const errorAt = (path: string): string | undefined => errorIn(refusal, path) ?? count.errorAt(path);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    onSave();
  };
  return (
    <form className="cols" onSubmit={send}>
      <div className="stack">
        <NamePanel draft={draft} onDraft={onDraft} isNew={isNew} />
        {!isList && (
          <Panel title="Who is in it">
            <div className="body">
              <Sentence filters={filters} />
              <FilterBuilder
                value={filters}
                onChange={(next) => onDraft({ ...draft, filters: next })}
                appId={app}
                errorAt={errorAt}
                noteAt={count.noteAt}
              />
            </div>
          </Panel>
        )}
        <SavePanel
          refusal={refusal}
          note={note}
          isIncomplete={!isList && !isWhole}
          isBusy={isBusy}
          action={isNew ? 'Create the segment' : 'Save'}
        />
      </div>
      <div className="stack">
        {!isList && (
          <Panel title="How many">
            <FilterCounts count={count} />
          </Panel>
        )}
        {command}
      </div>
    </form>
  );
}

function NamePanel({ draft, onDraft, isNew }: { draft: Draft; onDraft: (draft: Draft) => void; isNew: boolean }) {
  return (
    <Panel title="Name and app">
      <div className="body two">
        <Field
          label="Name"
          value={draft.name}
          required
          maxLength={255}
          onChange={({ target }) => onDraft({ ...draft, name: target.value })}
        />
        {isNew && <AppField value={draft.app} onChange={(app) => onDraft({ ...draft, app })} />}
        <AreaField
          label="Description"
          value={draft.description}
          rows={1}
          onChange={({ target }) => onDraft({ ...draft, description: target.value })}
        />
        {isNew && (
          <SelectField
            label="What it is"
            value={draft.isList ? 'list' : 'filters'}
            onChange={({ target }) => onDraft({ ...draft, isList: target.value === 'list' })}
          >
            <option value="filters">people that filters find</option>
            <option value="list">a list of people that you add</option>
          </SelectField>
        )}
      </div>
    </Panel>
  );
}

/** Says what the server refused, unless the lines of the filters say it, and ends the form. */
function SavePanel({
  refusal,
  note,
  isIncomplete,
  isBusy,
  action,
}: {
  refusal: Refusal | null;
  note: ReactNode;
  isIncomplete: boolean;
  isBusy: boolean;
  action: string;
}) {
  const isInLines = refusal?.extra.messages?.some(({ element }) => element.startsWith('filters')) ?? false;
  return (
    <Panel title="Save">
      <div className="body">
        {note}
        {refusal && !isInLines && <Refused refusal={refusal} />}
        {isInLines && <p className="wrong">A filter is not right: see its line above.</p>}
        {isIncomplete && <p className="small second">A filter has a field that is still empty.</p>}
        <div className="controls">
          <Link className="btn" to="/segments">
            Leave it
          </Link>
          <button type="submit" className="btn main" disabled={isBusy || isIncomplete}>
            {action}
          </button>
        </div>
      </div>
    </Panel>
  );
}

function Sentence({ filters }: { filters: Filters }) {
  const { nameOf } = useNames();
  return <p className="sentence">{sentenceOf(filters, nameOf)}</p>;
}

function AppField({ value, onChange }: { value: string; onChange: (app: string) => void }) {
  const isListed = useSession().may('listApps');
  const { data, isPending } = useRead('listApps', { query: { secrets: false } }, { isWanted: isListed });
  const apps = data?.apps ?? [];
  const only = apps.length === 1 ? apps[0]!.identifier : '';
  useEffect(() => {
    if (value === '' && only !== '') onChange(only);
  }, [value, only, onChange]);
  if (isListed && isPending) return <Skeleton rows={1} />;
  if (!isListed || data === undefined)
    return <Field label="App" value={value} required onChange={({ target }) => onChange(target.value.trim())} />;
  return (
    <SelectField label="App" value={value} required onChange={({ target }) => onChange(target.value)}>
      <option value="">Choose one</option>
      {apps.map(({ identifier, name }) => (
        <option key={identifier} value={identifier}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
