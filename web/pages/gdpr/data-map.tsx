/** The registry of personal data: each location by feature, with what it holds, and how it is erased. */
import { useState } from 'react';
import type { PersonalDataLocation } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip, Head } from '../../parts/head.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { countText } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';

/** Features in words, in the order in which they are shown. */
const FEATURES: Record<string, string> = {
  attributes: 'Attributes of customers',
  imports: 'Imports',
  feed: 'Feeds',
  syncs: 'Syncs',
  tracking: 'What apps and devices send',
  analytics: 'Segments and funnels',
  campaigns: 'Campaigns',
  sends: 'Messages to devices',
  files: 'Files that users build',
  gdpr: 'Privacy requests and evidence',
  accounts: 'Audit log',
  core: 'The server itself',
};

export function DataMap() {
  const [filters, change] = useFilters();
  // Typing must not wait for the address.
  const [asked, setAsked] = useState(filters['q'] ?? '');
  const found = useRead('listPersonalDataLocations', { query: {} });
  return (
    <>
      <Head
        title="Data map"
        facts={<span>Every table and file area that may hold something about a person, as the server erases it.</span>}
      />
      <div className="field filter">
        <label htmlFor="map-filter">Filter</label>
        <input
          className="input"
          id="map-filter"
          data-filter
          placeholder="events, push token, 30 days"
          value={asked}
          onChange={({ target }) => {
            setAsked(target.value);
            change({ q: target.value });
          }}
        />
      </div>
      <Shown result={found}>{({ locations }) => <ByFeature locations={locations} asked={asked} />}</Shown>
      <AsCommand operation="listPersonalDataLocations" cli={['millrace gdpr locations']} manual="privacy" />
    </>
  );
}

function ByFeature({ locations, asked }: { locations: readonly PersonalDataLocation[]; asked: string }) {
  const matching = locations.filter((location) => holdsText(location, asked));
  const byFeature = Map.groupBy(matching, ({ feature }) => feature);
  const order = [...new Set([...Object.keys(FEATURES), ...byFeature.keys()])];
  const hashed = matching.filter(({ is_erased: isErased }) => !isErased).length;
  if (matching.length === 0) return <Empty says="No location matches. Clear the filter to see all of them." />;
  return (
    <>
      <p className="second">
        <b>{countText(matching.length)}</b> locations: a deletion erases {countText(matching.length - hashed)}, and{' '}
        {countText(hashed)} {hashed === 1 ? 'holds' : 'hold'} keyed hashes alone.
      </p>
      {order.map((feature) => {
        const rows = byFeature.get(feature);
        return (
          rows && (
            <Panel
              key={feature}
              title={FEATURES[feature] ?? feature}
              end={<span className="quiet">{rows.length}</span>}
            >
              <DataTable
                caption={`Locations of ${FEATURES[feature] ?? feature}`}
                columns={COLUMNS}
                rows={rows}
                keyOf={({ name }) => name}
                empty={null}
              />
            </Panel>
          )
        );
      })}
    </>
  );
}

const words = (text: string) => <Markdown text={text} manual="privacy" />;

const COLUMNS: Column<PersonalDataLocation>[] = [
  {
    title: 'Location',
    cell: ({ name, is_erased: isErased }) => (
      <>
        <code className="whole">{name}</code> {!isErased && <Chip tone="neutral">hashes</Chip>}
      </>
    ),
  },
  { title: 'May hold', cell: ({ holds }) => words(holds) },
  { title: 'Found by', cell: ({ found_by: by }) => words(by) },
  { title: 'A deletion', cell: ({ erased_by: by }) => words(by) },
  { title: 'Kept', cell: ({ kept_for: time }) => words(time) },
];

function holdsText(location: PersonalDataLocation, asked: string): boolean {
  const { name, holds, found_by: by, erased_by: erasedBy, kept_for: kept } = location;
  return [name, holds, by, erasedBy, kept].join(' ').toLowerCase().includes(asked.trim().toLowerCase());
}
