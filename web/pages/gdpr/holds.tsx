/** The people who are on hold, behind a press; holds are placed and released here. */
import { useState } from 'react';
import type { CreatedGdprHold, GdprHold } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { Place, Placed } from './place-hold.tsx';
import { Readmit } from './readmit.tsx';
import { changeList, useAction, useList } from '../../session/calls.ts';

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
      <Head title="Holds" facts={<span>A person on hold is not erased before the release.</span>} actions={actions} />
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
                <PersonLink kind={user === null ? 'device_id' : 'user_id'} id={user ?? device ?? ''} />
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
