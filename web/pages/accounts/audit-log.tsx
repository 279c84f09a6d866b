/** The audit log, behind a press, since reading it is an entry of it. */
import type { AuditEntry } from '../../../api/client.ts';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../../domain/accounts/audit.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { fileAddress } from '../../session/api.ts';
import { useList } from '../../session/calls.ts';

const FILTERS = { action: AUDIT_ACTIONS, subject_kind: SUBJECT_KINDS, actor_kind: ACTOR_KINDS } as const;
type Filters = { [K in keyof typeof FILTERS]?: (typeof FILTERS)[K][number] };

export function AuditLog() {
  const [search, change] = useFilters();
  const filters = Object.fromEntries(
    Object.entries(FILTERS).flatMap(([name, values]) =>
      (values as readonly string[]).includes(search[name] ?? '') ? [[name, search[name]]] : [],
    ),
  ) as Filters;
  return (
    <>
      <Head
        title="Audit log"
        facts={<span>each change, and each look at people or secrets</span>}
        actions={
          <a className="btn" href={fileAddress('exportAuditLog', {}, filters)} download>
            As a file
          </a>
        }
      />
      <div className="filters">
        {Object.entries(FILTERS).map(([name, values]) => (
          <label className="pick" key={name}>
            {name.replace('_', ' ')}
            <select value={search[name] ?? ''} onChange={({ target }) => change({ [name]: target.value || undefined })}>
              <option value="">any</option>
              {values.map((value) => (
                <option key={value}>{value}</option>
              ))}
            </select>
          </label>
        ))}
      </div>
      <div className="cols">
        <Panel title="Entries">
          <Audited operation="listAuditEntries" what="the entries">
            {() => <Entries filters={filters} />}
          </Audited>
        </Panel>
        <aside className="stack">
          <AsCommand operation="listAuditEntries" cli={['millrace audit']} manual="security" />
        </aside>
      </div>
    </>
  );
}

function Entries({ filters }: { filters: Filters }) {
  const entries = useList('listAuditEntries', { query: filters });
  return (
    <DataTable
      caption="Entries of the audit log, newest first"
      columns={[
        { title: 'When', cell: ({ date }) => <When at={date} /> },
        { title: 'Who', cell: (entry) => <Actor entry={entry} /> },
        { title: 'Did', cell: ({ action, subject_kind }) => `${action} ${subject_kind.replaceAll('_', ' ')}` },
        {
          title: 'Of',
          cell: ({ subject, customer_hash }) => <code>{subject ?? customer_hash?.slice(0, 12) ?? ''}</code>,
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
