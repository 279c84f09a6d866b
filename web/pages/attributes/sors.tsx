/** All Systems of Records, and a form that makes one. */
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useId } from 'react';
import type { ViewedSystemOfRecords } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Count, Id } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const COLUMNS: readonly Column<ViewedSystemOfRecords>[] = [
  {
    title: 'System of Records',
    cell: ({ identifier, name }) => (
      <Link to={`/sors/${identifier}`}>
        <b>{name}</b>
      </Link>
    ),
  },
  { title: 'Values come from', cell: ({ type }) => ORIGINS[type] },
  { title: 'Attributes', isNumber: true, cell: ({ attributes_count }) => <Count value={attributes_count} /> },
  {
    title: 'State',
    cell: ({ disabled }) => (disabled ? <Chip tone="warn">Disabled</Chip> : <Chip tone="ok">Takes values</Chip>),
  },
  { title: 'Identifier', cell: ({ identifier }) => <Id value={identifier} /> },
];

export const ORIGINS: Record<ViewedSystemOfRecords['type'], string> = {
  custom: 'imports, feeds and syncs',
  app: 'the SDK of an app',
  global: 'every source of the entity',
};

export function Sors() {
  const { may } = useSession();
  const sors = useRead('listSystemsOfRecords', { query: { secrets: false } });
  return (
    <>
      <Head
        title="Systems of Records"
        facts={<span>Named sources of values of people: each has its attributes, and keys that write to it.</span>}
      />
      <div className="cols">
        <Panel title="All of them">
          <DataTable
            caption="Systems of Records"
            columns={COLUMNS}
            rows={sors.data ?? []}
            keyOf={({ identifier }) => identifier}
            more={{ ...sors, hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined }}
            empty={<Empty says="No System of Records yet: make one, then define its attributes." />}
          />
        </Panel>
        <div className="stack">
          {may('createSystemOfRecord') && <NewSor />}
          <AsCommand
            operation="createSystemOfRecord"
            body={{ name: 'CRM' }}
            cli={['millrace sors list', 'millrace sors add CRM']}
            manual="command-line"
          />
        </div>
      </div>
    </>
  );
}

function NewSor() {
  const id = useId();
  const navigate = useNavigate();
  const create = useAction('createSystemOfRecord', {
    changes: ['listSystemsOfRecords'],
    onDone: ({ identifier }) => void navigate({ to: `/sors/${identifier}` }),
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    create.mutate({ body: { name: textOf(event.currentTarget, 'name') } });
  };
  return (
    <Panel title="New System of Records">
      <form className="body" onSubmit={send}>
        <div className="field">
          <label htmlFor={id}>Name</label>
          <input className="input" id={id} name="name" required autoComplete="off" />
          <span className="hint">The system that the values come from, such as CRM</span>
        </div>
        {create.error && <Refused refusal={create.error} />}
        <div>
          <button type="submit" className="btn main" disabled={create.isPending}>
            Create
          </button>
        </div>
      </form>
    </Panel>
  );
}
