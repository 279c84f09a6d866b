/** The people who are on hold, behind a press; holds are placed and released here. */
import { type FormEvent, useState } from 'react';
import type { CreatedGdprHold, GdprHold } from '../../../api/client.ts';
import { HOLD_KINDS, type HoldKind } from '../../../domain/gdpr/gdpr-codes.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Confirm, Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Id, When } from '../../parts/values.tsx';
import { Readmit } from './readmit.tsx';
import { changeList, useAction, useList } from '../../session/calls.ts';

const KIND_WORDS: Record<HoldKind, string> = {
  hold: 'legal hold',
  restriction: 'restricted processing (GDPR, article 18)',
};

export function Holds() {
  const [isPlacing, setPlacing] = useState(false);
  const [placed, setPlaced] = useState<CreatedGdprHold | null>(null);
  const [isReadmitting, setReadmitting] = useState(false);
  const actions = (
    <>
      <ActionButton operation="readmitPeople" onPress={() => setReadmitting(true)}>
        Readmit erased people
      </ActionButton>
      <ActionButton operation="createGdprHold" kind="main" onPress={() => setPlacing(true)}>
        Put on hold
      </ActionButton>
    </>
  );
  return (
    <>
      <Head title="Holds" facts={<span>a person on hold is not erased before the release</span>} actions={actions} />
      {placed && <Placed hold={placed} />}
      <div className="cols">
        <Panel title="On hold">
          <Audited operation="listGdprHolds" what="who is held">
            {() => <List />}
          </Audited>
        </Panel>
        <aside className="stack">
          <AsCommand
            operation="listGdprHolds"
            cli={['millrace gdpr holds', 'millrace gdpr hold <user> --reason <reason>', 'millrace gdpr release <hold>']}
            manual="gdpr"
          />
        </aside>
      </div>
      {isReadmitting && <Readmit onClose={() => setReadmitting(false)} />}
      {isPlacing && <Place onPlaced={setPlaced} onClose={() => setPlacing(false)} />}
    </>
  );
}

/** Says that the hold is there, and whether it may have come too late. */
function Placed({ hold: { identifier, deletion_under_way: isLate } }: { hold: CreatedGdprHold }) {
  return (
    <p className={`note ${isLate ? 'warn' : 'info'}`} role="status">
      <span>
        Placed as <code>{identifier}</code>.{' '}
        {isLate && 'A deletion of this person is running, and may be too far to stop: look at the requests.'}
      </span>
    </p>
  );
}

function List() {
  const holds = useList('listGdprHolds', { query: { per_page: 100 } });
  const [released, setReleased] = useState<GdprHold | null>(null);
  return (
    <>
      <DataTable
        caption="Holds, oldest first"
        columns={[
          {
            title: 'Person',
            cell: ({ user_id: user, device_id: device }) => (
              <span>
                {user === null && 'device '}
                <Id value={user ?? device ?? ''} />
              </span>
            ),
          },
          {
            title: 'Kind',
            cell: ({ kind }) => <Chip tone={kind === 'hold' ? 'warn' : 'info'}>{kind}</Chip>,
          },
          { title: 'Reason', cell: ({ reason }) => reason },
          { title: 'Since', cell: ({ created_at: at }) => <When at={at} /> },
          {
            title: 'Actions',
            cell: (hold) => (
              <ActionButton operation="releaseGdprHold" onPress={() => setReleased(hold)}>
                Release
              </ActionButton>
            ),
          },
        ]}
        rows={holds.data?.pages.flatMap(({ items }) => items) ?? []}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty
            says="No person is on hold: every deletion goes on once it is approved."
            command="millrace gdpr hold <user> --reason <reason>"
          />
        }
        more={holds}
      />
      {released && <Release hold={released} onClose={() => setReleased(null)} />}
    </>
  );
}

// The list is an audited look: what an action changes is changed in the list that was read.

function Release({ hold: { identifier }, onClose }: { hold: GdprHold; onClose: () => void }) {
  const release = useAction('releaseGdprHold', {
    onDone() {
      changeList('listGdprHolds', (pages) =>
        pages.map((page) => ({ ...page, items: page.items.filter((item) => item.identifier !== identifier) })),
      );
      onClose();
    },
  });
  return (
    <Confirm
      title="Release the hold?"
      says="Deletions of this person that wait for it go on, unless another hold covers the same person. What they erase does not come back."
      action="Release it"
      isBusy={release.isPending}
      refusal={release.error}
      onConfirm={() => release.mutate({ params: { hold_id: identifier } })}
      onClose={onClose}
    />
  );
}

function Place({ onPlaced, onClose }: { onPlaced: (hold: CreatedGdprHold) => void; onClose: () => void }) {
  const create = useAction('createGdprHold', {
    onDone(hold) {
      changeList('listGdprHolds', (pages) =>
        pages.map((page, index) => (index < pages.length - 1 ? page : { ...page, items: [...page.items, hold] })),
      );
      onPlaced(hold);
      onClose();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const id = textOf(form, 'id');
    const kind = HOLD_KINDS.find((each) => each === textOf(form, 'kind')) ?? 'hold';
    const person = textOf(form, 'of') === 'device' ? { device_id: id } : { user_id: id };
    create.mutate({ body: { ...person, kind, reason: textOf(form, 'reason') } });
  };
  return (
    <Dialog title="Put a person on hold" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <fieldset className="controls">
          <legend>The id is that of</legend>
          <label>
            <input type="radio" name="of" value="user" defaultChecked /> a user
          </label>
          <label>
            <input type="radio" name="of" value="device" /> a device
          </label>
        </fieldset>
        <Field label="Id" name="id" autoComplete="off" required />
        <fieldset className="tight">
          <legend>Kind</legend>
          {HOLD_KINDS.map((kind) => (
            <label key={kind}>
              <input type="radio" name="kind" value={kind} defaultChecked={kind === 'hold'} /> {KIND_WORDS[kind]}
            </label>
          ))}
        </fieldset>
        <Field
          label="Reason"
          name="reason"
          maxLength={500}
          required
          hint="Shown with requests that wait for the hold. Name no other person in it."
        />
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          Put on hold
        </FormEnd>
      </form>
    </Dialog>
  );
}
