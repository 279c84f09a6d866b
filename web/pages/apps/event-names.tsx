/** The events that an app has sent: a name for people, whether each is a key event, its labels. */
import { type FormEvent, useState } from 'react';
import type { EventDefinition, ViewedApp } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { countText } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';

const KINDS: Record<EventDefinition['log_type'], string> = { 1: 'error', 2: 'event', 3: 'background' };
const CHANGED = ['listEventDefinitions'] as const;

export function EventNames({ app }: { app: ViewedApp }) {
  const params = { app_identifier: app.identifier };
  const [text, setText] = useState('');
  const [named, setNamed] = useState<EventDefinition | null>(null);
  const list = useList('listEventDefinitions', { params });
  const all = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const asked = text.toLowerCase();
  const columns: readonly Column<EventDefinition>[] = [
    {
      title: 'Event',
      cell: ({ display_name: shown, name }) => (
        <>
          <b>{shown}</b>
          {shown !== name && (
            <>
              {' '}
              <code>{name}</code>
            </>
          )}
        </>
      ),
    },
    { title: 'Kind', cell: ({ log_type: kind }) => KINDS[kind] },
    { title: 'Key event', cell: ({ goal }) => (goal ? <Chip tone="accent">key event</Chip> : null) },
    {
      title: 'Labels',
      cell: ({ labels }) =>
        labels.length === 0 ? null : (
          <span className="chips">
            {labels.map((label) => (
              <Chip key={label} tone="neutral">
                {label}
              </Chip>
            ))}
          </span>
        ),
    },
    {
      title: 'Change',
      cell: (event) => (
        <span className="filters">
          <ActionButton operation="updateEventDefinition" onPress={() => setNamed(event)}>
            Name it
          </ActionButton>
          <Remove event={event} params={params} />
        </span>
      ),
    },
  ];
  return (
    <Panel
      title={`Events${list.data ? `: ${countText(list.data.pages[0]!.total_items)}` : ''}`}
      end={
        <input
          className="input"
          data-filter
          aria-label="Filter the events"
          placeholder="Filter the events"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      }
    >
      <DataTable
        caption="Events"
        columns={columns}
        rows={all.filter((each) =>
          `${each.display_name} ${each.name} ${each.labels.join(' ')}`.toLowerCase().includes(asked),
        )}
        keyOf={({ identifier }) => String(identifier)}
        more={list}
        empty={
          <Empty
            says={
              all.length > 0
                ? 'No event has this in its name or labels.'
                : 'No event yet: each shows here within five minutes of its first call.'
            }
          />
        }
      />
      {named && <NameIt event={named} params={params} onClose={() => setNamed(null)} />}
    </Panel>
  );
}

type AppParams = { app_identifier: string };

function Remove({ event: { identifier, name }, params }: { event: EventDefinition; params: AppParams }) {
  const remove = useAction('deleteEventDefinition', { changes: CHANGED });
  return (
    <ConfirmButton
      operation="deleteEventDefinition"
      title={`Delete the definition of ${name}?`}
      says="Its name, mark and labels go. The events stay, and the next one makes another definition."
      yes="Delete it"
      kind="plain"
      sent={remove}
      onYes={(options) => remove.mutate({ params: { ...params, event_id: String(identifier) } }, options)}
    >
      Delete
    </ConfirmButton>
  );
}

function NameIt({ event, params, onClose }: { event: EventDefinition; params: AppParams; onClose: () => void }) {
  const { identifier, name, display_name: shown, goal, labels } = event;
  const update = useAction('updateEventDefinition', { changes: CHANGED, onDone: onClose });
  const send = (submitted: FormEvent<HTMLFormElement>): void => {
    submitted.preventDefault();
    const form = submitted.currentTarget;
    const given = textOf(form, 'display_name').trim();
    update.mutate({
      params: { ...params, event_id: String(identifier) },
      body: {
        display_name: given === '' || given === name ? null : given,
        goal: textOf(form, 'goal') !== '',
        labels: textOf(form, 'labels')
          .split(',')
          .map((label) => label.trim())
          .filter(Boolean),
      },
    });
  };
  return (
    <Dialog title={`Name ${name}`} onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field
          label="Name for people"
          name="display_name"
          defaultValue={shown}
          autoComplete="off"
          hint={`Empty: ${name}. SDKs go on sending ${name}.`}
        />
        <Field
          label="Labels"
          name="labels"
          defaultValue={labels.join(', ')}
          autoComplete="off"
          hint="With commas between"
        />
        <label>
          <input type="checkbox" name="goal" defaultChecked={goal} /> A key event, such as a purchase
        </label>
        <FormEnd refusal={update.error} isOff={update.isPending} onClose={onClose}>
          Save
        </FormEnd>
      </form>
    </Dialog>
  );
}
