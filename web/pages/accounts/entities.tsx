/** The entities of the server, for superadmins; keys are shown on a press alone. */
import { type FormEvent, useState } from 'react';
import type { ViewedEntity } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Id } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';

export function Entities() {
  const entities = useList('listEntities', { query: { secrets: false } });
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      <Head
        title="Entities"
        actions={
          <ActionButton operation="createEntity" kind="main" onPress={() => setMaking(true)}>
            New entity
          </ActionButton>
        }
      />
      <div className="cols">
        <Panel title="On this server">
          <DataTable
            caption="Entities of the server"
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Id', cell: ({ identifier }) => <Id value={identifier} /> },
              { title: 'State', cell: (entity) => <State entity={entity} /> },
              { title: 'Zone', cell: ({ default_tz }) => default_tz },
              { title: 'Keeps data for', cell: ({ data_retention_in_months }) => `${data_retention_in_months} months` },
            ]}
            rows={entities.data?.pages.flatMap(({ items }) => items) ?? []}
            keyOf={({ identifier }) => identifier}
            empty={<Empty says="No entity." />}
            more={entities}
          />
        </Panel>
        <aside className="stack">
          <AsCommand operation="listEntities" cli={['millrace entities list']} manual="users" />
        </aside>
      </div>
      {isMaking && <Make onClose={() => setMaking(false)} />}
    </>
  );
}

function State({ entity: { active } }: { entity: ViewedEntity }) {
  return <Chip tone={active ? 'ok' : 'warn'}>{active ? 'active' : 'refuses calls'}</Chip>;
}

function Make({ onClose }: { onClose: () => void }) {
  const create = useAction('createEntity', { changes: ['listEntities'], onDone: onClose });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    create.mutate({ body: { name: textOf(form, 'name'), default_tz: textOf(form, 'default_tz') } });
  };
  return (
    <Dialog title="New entity" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field label="Name" name="name" required />
        <Field label="Zone" name="default_tz" defaultValue="Europe/Paris" required hint="Of the IANA database." />
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          Create it
        </FormEnd>
      </form>
    </Dialog>
  );
}
