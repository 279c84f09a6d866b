/** The audit log, behind a press, since reading it is an entry of it. */
import { useState } from 'react';
import type { AuditEntry } from '../../../api/client.ts';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../../domain/accounts/audit.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { isDay, useFilters } from '../../parts/filters.ts';
import { Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { When } from '../../parts/values.tsx';
import { fileAddress } from '../../session/api.ts';
import { useList } from '../../session/calls.ts';

const FILTERS = { action: AUDIT_ACTIONS, subject_kind: SUBJECT_KINDS, actor_kind: ACTOR_KINDS } as const;
const LABELS: Record<keyof typeof FILTERS, string> = { action: 'Action', subject_kind: 'Subject', actor_kind: 'Actor' };
type Query = Filters & { from?: string; till?: string; customer_id?: string };
type Filters = { [K in keyof typeof FILTERS]?: (typeof FILTERS)[K][number] };

export function AuditLog() {
  const [search, change] = useFilters();
  // A person's id stays out of the address.
  const [person, setPerson] = useState('');
  const filters = Object.fromEntries(
    Object.entries(FILTERS).flatMap(([name, values]) =>
      (values as readonly string[]).includes(search[name] ?? '') ? [[name, search[name]]] : [],
    ),
  ) as Filters;
  const [from, until] = [dayOf(search['from']), dayOf(search['until'])];
  const query: Query = {
    ...filters,
    ...(from === null ? {} : { from: new Date(from).toISOString() }),
    ...(until === null ? {} : { till: new Date(until + DAY_MS).toISOString() }),
    ...(person === '' ? {} : { customer_id: person }),
  };
  return (
    <>
      <Head
        title="Audit log"
        facts={<span>Each change, and each look at people or secrets.</span>}
        actions={
          <a className="btn" href={fileAddress('exportAuditLog', {}, query)} download>
            As a file
          </a>
        }
      />
      <div className="filters">
        {Object.entries(FILTERS).map(([name, values]) => (
          <label className="pick" key={name}>
            {LABELS[name as keyof Filters]}
            <select value={search[name] ?? ''} onChange={({ target }) => change({ [name]: target.value || undefined })}>
              <option value="">any</option>
              {values.map((value) => (
                <option key={value} value={value}>
                  {value.replaceAll('_', ' ')}
                </option>
              ))}
            </select>
          </label>
        ))}
        <DayPick label="From" name="from" value={search['from']} />
        <DayPick label="Until" name="until" value={search['until']} />
        <form
          className="pick"
          onSubmit={(event) => {
            event.preventDefault();
            setPerson(textOf(event.currentTarget, 'person'));
          }}
        >
          <label htmlFor="audit-person">About the user id</label>
          <input id="audit-person" name="person" type="search" autoComplete="off" placeholder="any, then Enter" />
        </form>
      </div>
      <Panel title="Entries" footer="Days are in UTC. Entries hold no id of a person, only a keyed hash.">
        <Audited operation="listAuditEntries" what="the entries">
          {() => <Entries query={query} />}
        </Audited>
      </Panel>
      <AsCommand operation="listAuditEntries" cli={['millrace audit']} manual="security" />
    </>
  );
}

/** Returns the start of a day of the address; null without one. */
function dayOf(day = ''): number | null {
  return isDay(day) ? Date.parse(day) : null;
}

function DayPick({ label, name, value = '' }: { label: string; name: string; value: string | undefined }) {
  const [, change] = useFilters();
  return (
    <label className="pick">
      {label}
      <input type="date" value={value} onChange={({ target }) => change({ [name]: target.value || undefined })} />
    </label>
  );
}

function Entries({ query }: { query: Query }) {
  const entries = useList('listAuditEntries', { query });
  return (
    <DataTable
      caption="Entries of the audit log, newest first"
      columns={[
        { title: 'When', cell: ({ date }) => <When at={date} /> },
        { title: 'Who', cell: (entry) => <Actor entry={entry} /> },
        { title: 'Did', cell: ({ action, subject_kind }) => `${action} ${subject_kind.replaceAll('_', ' ')}` },
        {
          title: 'Subject',
          cell: ({ subject, customer_hash }) => (
            <code className="whole">{subject ?? customer_hash?.slice(0, 12) ?? ''}</code>
          ),
        },
        { title: 'Details', cell: ({ details }) => detailsText(details) },
      ]}
      rows={entries.data?.pages.flatMap((page) => page.entries) ?? []}
      keyOf={({ id }) => String(id)}
      empty={<Empty says="No entry matches these filters." />}
      more={entries}
    />
  );
}

function Actor({ entry: { actor_kind, actor, actor_name, address } }: { entry: AuditEntry }) {
  return (
    <span title={address === null ? undefined : `from ${address}`}>
      {actor_name ?? actor ?? actor_kind.replace('_', ' ')}
    </span>
  );
}

function detailsText(details: AuditEntry['details']): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}
