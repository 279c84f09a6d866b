/** A new funnel: its steps as rows, counted before it is stored; also the copy of one that is to change. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { Funnel } from '../../../api/client.ts';
import { DEFAULT_DURATION_SECONDS, MAX_DURATION_SECONDS, MAX_STEPS } from '../../../domain/analytics/funnel.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { DurationField } from '../../parts/duration-field.tsx';
import { Field } from '../../parts/field.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { type AppName, type Draft, emptyStep, funnelOf, type StepDraft } from './draft.ts';
import { FunnelView } from './funnel-view.tsx';
import { StepFields } from './step-fields.tsx';
import { useWithin } from './use-counts.ts';
import type { CountedFunnel } from './words.ts';

export function NewFunnel() {
  const { copy } = useSearch({ strict: false });
  const head = <Head title="New funnel" within={{ title: 'Funnels', to: '/funnels', name: 'new' }} />;
  const apps = useRead('listApps', { query: { secrets: false } });
  const copied = useRead('viewFunnel', { params: { identifier: copy ?? '' } }, { isWanted: copy !== undefined });
  return (
    <>
      {head}
      <Shown result={apps}>
        {({ apps: all }) => {
          if (all.length === 0)
            return (
              <Panel title="Steps">
                <Empty
                  says="No app yet. Add one and send its events: the steps of a funnel are events."
                  command="millrace apps add"
                />
              </Panel>
            );
          const names = all.map(({ identifier, name }) => ({ identifier, name }));
          if (copy === undefined) return <Builder apps={names} start={draftOf(names[0]!.identifier)} />;
          return <Shown result={copied}>{(funnel) => <Copy apps={names} of={funnel} />}</Shown>;
        }}
      </Shown>
    </>
  );
}

const draftOf = (app: string): Draft => ({
  name: '',
  description: '',
  maxDuration: DEFAULT_DURATION_SECONDS,
  labels: [],
  steps: [emptyStep(app), emptyStep(app)],
});

function Copy({ apps, of }: { apps: readonly AppName[]; of: Funnel }) {
  return <Builder apps={apps} start={copyOf(of, useWithin(of.max_duration))} />;
}

const copyOf = ({ name, description, labels, steps }: Funnel, maxDuration: number): Draft => ({
  name: `${name} (copy)`,
  description: description ?? '',
  maxDuration,
  labels,
  steps: steps.map((step) => ({ ...step, key: crypto.randomUUID() })),
});

function Builder({ apps, start }: { apps: readonly AppName[]; start: Draft }) {
  const [draft, setDraft] = useState(start);
  const [counted, setCounted] = useState<CountedFunnel | null>(null);
  const navigate = useNavigate();
  const create = useAction('createFunnel', {
    changes: ['listFunnels'],
    onDone: ({ identifier }) => void navigate({ to: `/funnels/${identifier}` }),
  });
  const change = (changed: Partial<Draft>): void => setDraft({ ...draft, ...changed });
  const funnel = funnelOf(draft);
  const isWhole =
    Number.isSafeInteger(draft.maxDuration) &&
    funnel.steps.every(({ match_name: names }) => names.every(({ log_name: name }) => name !== ''));
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const { name, description, labels } = draft;
    create.mutate({ body: { ...funnel, name, description: description === '' ? null : description, labels } });
  };
  return (
    <>
      <form onSubmit={send} className="stack">
        <Panel title="Steps" footer="Any event of a step completes it. People take the steps in this order.">
          <StepList draft={draft} apps={apps} onChange={(steps) => change({ steps })} />
        </Panel>
        <Panel title="Store it">
          <div className="body">
            <Field
              label="Name"
              value={draft.name}
              onChange={({ target }) => change({ name: target.value })}
              maxLength={200}
              required
            />
            <Field
              label="Description"
              value={draft.description}
              onChange={({ target }) => change({ description: target.value })}
              maxLength={2_000}
            />
            <DurationField
              label="Within"
              hint="From the first step to the last, at most 366 days"
              seconds={start.maxDuration}
              max={MAX_DURATION_SECONDS}
              onChange={(maxDuration) => change({ maxDuration })}
            />
            {create.error && <Refused refusal={create.error} nameOf={elementName} />}
            <div className="filters">
              <button type="button" className="btn" disabled={!isWhole} onClick={() => setCounted(funnel)}>
                Count it first
              </button>
              <button type="submit" className="btn main" disabled={!isWhole || create.isPending}>
                Store the funnel
              </button>
            </div>
          </div>
        </Panel>
      </form>
      {counted && <FunnelView key={JSON.stringify(counted)} funnel={counted} />}
      <AsCommand
        operation="createFunnel"
        body={{ ...funnel, name: draft.name === '' ? '<name>' : draft.name }}
        cli={['millrace funnels create funnel.json']}
        manual="funnels"
      />
    </>
  );
}

/** Returns what the page calls an element, such as `steps.1.match_name.0.log_name`. */
function elementName(element: string): string {
  const [, step] = /^steps\.(\d+)/.exec(element) ?? [];
  return step === undefined ? element : `Step ${Number(step) + 1}`;
}

function StepList({
  draft: { steps },
  apps,
  onChange,
}: {
  draft: Draft;
  apps: readonly AppName[];
  onChange: (steps: StepDraft[]) => void;
}) {
  const change = (at: number, changed: StepDraft): void => onChange(steps.with(at, changed));
  const remove = (at: number): void => onChange(steps.toSpliced(at, 1));
  const moveUp = (at: number): void => onChange(steps.toSpliced(at - 1, 2, steps[at]!, steps[at - 1]!));
  const isFull = steps.length >= MAX_STEPS;
  return (
    <>
      <ol className="step-list">
        {steps.map((step, nth) => (
          <li key={step.key}>
            <span className="no">{nth + 1}</span>
            <StepFields step={step} number={nth + 1} apps={apps} onChange={(changed) => change(nth, changed)} />
            <span className="filters">
              {nth > 0 && (
                <button type="button" className="btn plain" onClick={() => moveUp(nth)}>
                  <Icon name="up" />
                  Up<span className="sr">: step {nth + 1}</span>
                </button>
              )}
              {steps.length > 1 && (
                <button type="button" className="btn plain" onClick={() => remove(nth)}>
                  <Icon name="close" />
                  Remove<span className="sr">: step {nth + 1}</span>
                </button>
              )}
            </span>
          </li>
        ))}
      </ol>
      <div className="body">
        <ActionButton
          operation="createFunnel"
          isBusy={isFull}
          onPress={() => onChange([...steps, emptyStep(steps.at(-1)!.match_name[0]!.app_id)])}
        >
          <Icon name="plus" />
          {isFull ? `A funnel has at most ${MAX_STEPS} steps` : 'Add a step'}
        </ActionButton>
      </div>
    </>
  );
}
