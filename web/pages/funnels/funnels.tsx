/** All funnels of the entity, those in use first. */
import { Link, useSearch } from '@tanstack/react-router';
import type { Funnel } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { stepName } from './words.ts';

const COLUMNS: readonly Column<Funnel>[] = [
  {
    title: 'Funnel',
    cell: ({ identifier, name, description }) => (
      <>
        <Link to={`/funnels/${identifier}`}>
          <b>{name}</b>
        </Link>
        {description !== null && <span className="block small second">{description}</span>}
      </>
    ),
  },
  { title: 'Steps', isNumber: true, cell: ({ steps }) => <Count value={steps.length} /> },
  { title: 'From', cell: ({ steps }) => stepName(steps[0]!) },
  { title: 'To', cell: ({ steps }) => stepName(steps.at(-1)!) },
  { title: 'Labels', cell: ({ labels }) => (labels.length === 0 ? '–' : labels.join(', ')) },
  { title: 'State', cell: ({ archived }) => <FunnelChip isArchived={archived} /> },
  { title: 'Changed', cell: ({ updated_at: at }) => <When at={at} /> },
];

export function FunnelChip({ isArchived }: { isArchived: boolean }) {
  return isArchived ? <Chip tone="neutral">Archived</Chip> : <Chip tone="ok">In use</Chip>;
}

export function Funnels() {
  const funnels = useRead('listFunnels', {});
  const { may } = useSession();
  const make = may('createFunnel') ? (
    <Link className="btn main" to="/funnels/new">
      <Icon name="plus" />
      New funnel
    </Link>
  ) : undefined;
  return (
    <>
      <Head
        title="Funnels"
        actions={make}
        facts={<span>How many people take steps one after the other, and where they stop.</span>}
      />
      <Panel title="All funnels">
        <Shown result={funnels}>{(all) => <List funnels={all} make={make} />}</Shown>
      </Panel>
      <AsCommand operation="listFunnels" cli={['millrace funnels list']} manual="funnels" />
    </>
  );
}

function List({ funnels, make }: { funnels: readonly Funnel[]; make: React.ReactNode }) {
  const { state = 'in use' } = useSearch({ strict: false });
  const isShown = (funnel: Funnel, of: string) => of === 'all' || funnel.archived === (of === 'archived');
  return (
    <>
      {funnels.length > 0 && (
        <div className="body">
          <FilterToggles
            name="state"
            label="State"
            value={state}
            options={['in use', 'archived', 'all'].map((value) => ({
              value,
              count: funnels.filter((funnel) => isShown(funnel, value)).length,
            }))}
          />
        </div>
      )}
      <DataTable
        caption="Funnels"
        columns={COLUMNS}
        rows={funnels.filter((funnel) => isShown(funnel, state)).toReversed()}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty
            says={
              funnels.length > 0
                ? `No funnel is ${state}.`
                : 'No funnel yet. A funnel counts the people who view a product, add it and order it, say.'
            }
            {...(funnels.length > 0 ? {} : { command: 'millrace funnels create funnel.json' })}
            action={funnels.length > 0 ? undefined : make}
          />
        }
      />
    </>
  );
}
