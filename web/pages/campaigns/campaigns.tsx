/** The list of campaigns, with what each sent; its filters stand in the address. */
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { Campaign } from '../../../api/client.ts';
import { CAMPAIGN_STATUSES, type CampaignStatus } from '../../../domain/campaigns/campaign-status.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { CampaignState, channelsText, isUnderWay, statusOf, statusWords, TYPES } from './campaign-state.tsx';
import { CampaignsFile } from './campaigns-file.tsx';
import { NextSend } from './next-send.tsx';

const PAGE = 100;
const KINDS = { scheduled: 'classic', dynamic: 'dynamic', transactional: 'transactional' } as const;
type Kind = keyof typeof KINDS;
const CHANNELS = { push: 'push', inapp: 'in the app' } as const;
type MessageType = keyof typeof CHANNELS;

type Query = {
  status?: CampaignStatus;
  workflow_types?: Kind;
  message_types?: MessageType;
  app_ids?: string;
  search?: string;
};

/** Returns the filters of an address that the list knows. */
function queryOf({ status, type, channel, app, search }: Readonly<Record<string, string | undefined>>): Query {
  const isStatus = CAMPAIGN_STATUSES.find((each) => each === status);
  const kind = (Object.keys(KINDS) as Kind[]).find((each) => each === type);
  const message = (Object.keys(CHANNELS) as MessageType[]).find((each) => each === channel);
  return {
    ...(isStatus && { status: isStatus }),
    ...(kind && { workflow_types: kind }),
    ...(message && { message_types: message }),
    ...(app && { app_ids: app }),
    ...(search && { search }),
  };
}

export function Campaigns() {
  const [filters, change] = useFilters();
  const query = queryOf(filters);
  const shownPage = Math.max(1, Math.floor(Number(filters['page'] ?? 1)) || 1);
  const list = useRead(
    'listCampaigns',
    { query: { ...query, limit: String(PAGE), offset: String(PAGE * (shownPage - 1)) } },
    { pollWhile: ({ result }) => result.some(({ status }) => isUnderWay(status)) },
  );
  return (
    <>
      <Head
        title="Campaigns"
        facts={<span>Pushes and messages in the app: who got them, and who did not.</span>}
        actions={
          <>
            <CampaignsFile key={JSON.stringify(query)} query={query} />
            <Link className="btn main" to="/campaigns/new">
              <Icon name="plus" />
              New campaign
            </Link>
          </>
        }
      />
      <ListFilters filters={filters} change={change} />
      <Panel title="Campaigns, newest first">
        <Shown result={list}>
          {({ result, total_count: total }) => (
            <>
              <DataTable
                caption="Campaigns"
                columns={COLUMNS}
                rows={result}
                keyOf={({ identifier }) => identifier}
                empty={<NoCampaign isFiltered={Object.keys(query).length > 0 || shownPage > 1} />}
              />
              {total > PAGE && <Pages shown={shownPage} total={total} change={change} />}
            </>
          )}
        </Shown>
      </Panel>
      <AsCommand operation="listCampaigns" cli={['millrace campaigns list']} manual="campaigns" />
    </>
  );
}

type Change = ReturnType<typeof useFilters>[1];

function ListFilters({ filters, change }: { filters: ReturnType<typeof useFilters>[0]; change: Change }) {
  const { may } = useSession();
  const apps = useRead('listApps', { query: { secrets: false } }, { isWanted: may('listApps') });
  const pick = (name: string, label: string, any: string, options: readonly (readonly [string, string])[]) => (
    <label className="pick">
      <span className="sr">{label}</span>
      <select
        value={filters[name] ?? ''}
        onChange={({ target }) => change({ [name]: target.value || undefined, page: undefined })}
      >
        <option value="">{any}</option>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div className="filters" role="search" aria-label="Campaigns">
      {pick(
        'status',
        'Status',
        'Any status',
        CAMPAIGN_STATUSES.map((each) => [each, statusWords(each)] as const),
      )}
      {pick('type', 'Type', 'Any type', Object.entries(KINDS))}
      {pick('channel', 'Channel', 'Any channel', Object.entries(CHANNELS))}
      {apps.data &&
        pick(
          'app',
          'App',
          'Any app',
          apps.data.apps.map(({ identifier, name }) => [identifier, name] as const),
        )}
      <NameFilter value={filters['search'] ?? ''} onChange={(search) => change({ search, page: undefined })} />
    </div>
  );
}

const PAUSE_MS = 300;

/** A part of the name: the list follows when the person pauses. */
function NameFilter({ value, onChange }: { value: string; onChange: (search: string | undefined) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text || undefined), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className="pick">
      Name
      <input type="search" data-filter value={text} onChange={({ target }) => setText(target.value)} />
    </label>
  );
}

function NoCampaign({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty says="No campaign fits these filters." />
  ) : (
    <Empty
      says="No campaign yet. Make a draft: it is saved as you type, and sends nothing until you launch it."
      action={
        <Link className="btn main" to="/campaigns/new">
          New campaign
        </Link>
      }
      command="millrace campaigns list"
    />
  );
}

const COLUMNS: readonly Column<Campaign>[] = [
  { title: 'Name', cell: ({ identifier, name }) => <Link to={`/campaigns/${identifier}`}>{name}</Link> },
  {
    title: 'Type',
    cell: (campaign) => (
      <>
        {TYPES[campaign.type].title.toLowerCase()}
        <br />
        <span className="small quiet">{channelsText(campaign)}</span>
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <CampaignState shown={status} /> },
  { title: 'Audience', isNumber: true, cell: (campaign) => <Audience of={campaign} /> },
  { title: 'Taken', isNumber: true, cell: ({ stats, ...rest }) => ofSent(rest, stats.total_push_sent) },
  { title: 'Opened', isNumber: true, cell: ({ stats, ...rest }) => ofSent(rest, stats.total_push_openings) },
  { title: 'Launch', cell: ({ launched_at: at }) => <When at={at === null ? null : at * 1_000} /> },
  { title: 'Next send', cell: (campaign) => <NextSend of={campaign} /> },
];

function ofSent({ status }: Pick<Campaign, 'status'>, count: number) {
  return statusOf(status) === 'draft' ? <span className="quiet">–</span> : <Count value={count} />;
}

function Audience({ of: { reach_state: state, reach, status } }: { of: Campaign }) {
  if (state === 'none') return <span className="quiet">–</span>;
  if (state === 'computing')
    return <span className="quiet">{statusOf(status) === 'scheduled' ? 'at its start' : 'counting'}</span>;
  return (
    <>
      {reach.count === 1 ? (
        '1 device'
      ) : (
        <>
          <Count value={reach.count} /> devices
        </>
      )}
    </>
  );
}

function Pages({ shown, total, change }: { shown: number; total: number; change: Change }) {
  const last = Math.ceil(total / PAGE);
  const to = (page: number): void => change({ page: page === 1 ? undefined : String(page) });
  return (
    <footer>
      <button type="button" className="btn plain" disabled={shown === 1} onClick={() => to(shown - 1)}>
        Newer
      </button>
      <span className="n">
        {Math.min(total, PAGE * (shown - 1) + 1)} to {Math.min(total, PAGE * shown)} of {total}
      </span>
      <button type="button" className="btn plain" disabled={shown >= last} onClick={() => to(shown + 1)}>
        Older
      </button>
    </footer>
  );
}
