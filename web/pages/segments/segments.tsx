/** All segments: who is in each in words, how many, and as of when. */
import { Link, useSearch } from '@tanstack/react-router';
import type { Segment } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { readFilters } from '../analytics/filters.ts';
import { type NameOf, sentenceOf } from '../analytics/filter-words.ts';
import { isWaiting, ofSnapshot, SegmentChip } from './segment-state.tsx';

const STATES = ['all', 'active', 'computing', 'failed'] as const;

export function Segments() {
  const { state = 'all' } = useSearch({ strict: false });
  const read = useRead('listSegments', { query: {} }, { pollWhile: (segments) => segments.some(isWaiting) });
  const { may } = useSession();
  const make = may('createSegment') ? (
    <Link className="btn main" to="/segments/new">
      <Icon name="plus" />
      New segment
    </Link>
  ) : undefined;
  return (
    <>
      <Head title="Segments" actions={make} facts={<span>Sets of people of an app, found anew each hour.</span>} />
      <Panel title="All segments">
        <Shown result={read}>{(all) => <List all={all} state={state} make={make} />}</Shown>
      </Panel>
      <AsCommand operation="listSegments" cli={['millrace segments list']} manual="segments" />
    </>
  );
}

function List({ all, state, make }: { all: readonly Segment[]; state: string; make: React.ReactNode }) {
  const nameOf: NameOf = (id) => all.find(({ identifier }) => identifier === id)?.name ?? id;
  const shown = all.filter((segment) => state === 'all' || segment.state === state);
  return (
    <>
      {all.length > 0 && (
        <div className="body">
          <FilterToggles
            name="state"
            label="State"
            value={state}
            options={STATES.map((each) => ({
              value: each,
              count: all.filter((segment) => each === 'all' || segment.state === each).length,
            }))}
          />
        </div>
      )}
      <DataTable
        caption="Segments"
        columns={[
          { title: 'Segment', cell: (segment) => <NameCell segment={segment} nameOf={nameOf} /> },
          { title: 'State', cell: (segment) => <SegmentChip segment={segment} /> },
          { title: 'People', isNumber: true, cell: (segment) => ofSnapshot(segment, (counts) => counts.people_number) },
          {
            title: '% of the app',
            isNumber: true,
            cell: (segment) => ofSnapshot(segment, (counts) => counts.people_percent),
          },
          {
            title: '% reachable by push',
            isNumber: true,
            cell: (segment) => ofSnapshot(segment, (counts) => counts.push_percent),
          },
          { title: 'As of', cell: ({ snapshot_at: at }) => <When at={at} /> },
        ]}
        rows={shown}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty
            says={
              all.length > 0 ? `No segment is ${state}.` : 'No segment yet. A segment is a set of people of an app.'
            }
            {...(all.length > 0 ? {} : { command: 'millrace segments create segment.json' })}
            action={all.length > 0 ? undefined : make}
          />
        }
      />
    </>
  );
}

function NameCell({ segment, nameOf }: { segment: Segment; nameOf: NameOf }) {
  const { identifier, name, filters, static: isList, labels, app } = segment;
  return (
    <span className="tight">
      <Link to={`/segments/${identifier}`}>
        <b>{name}</b>
      </Link>
      <span className="small second wraps">
        {isList ? 'a list of people' : sentenceOf(readFilters(filters), nameOf)}
      </span>
      <span className="chips">
        <span className="small quiet mono">{app}</span>
        {labels.map((label) => (
          <Chip key={label} tone="neutral">
            {label}
          </Chip>
        ))}
      </span>
    </span>
  );
}
