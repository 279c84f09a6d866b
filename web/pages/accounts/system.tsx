/** The parts of the service: whether each is ready, and why not. */
import type { System as SystemState } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

export function System() {
  const { session } = useSession();
  const system = useRead('viewSystem', {}, { pollWhile: () => true });
  return (
    <>
      <Head
        title="System"
        state={system.data && <StateChip system={system.data} />}
        facts={
          system.data && (
            <>
              <span>Millrace {system.data.version}</span>
              <span>
                looked at <When at={system.dataUpdatedAt} />
              </span>
              {session.temporal_ui !== null && <a href={session.temporal_ui}>Workflows in Temporal</a>}
            </>
          )
        }
      />
      <div className="cols">
        <Panel title="Parts">
          <Shown result={system}>
            {({ parts }) => (
              <DataTable
                caption="Parts of the service"
                columns={COLUMNS}
                rows={parts}
                keyOf={({ name }) => name}
                empty={<Empty says="The service names no part." />}
              />
            )}
          </Shown>
        </Panel>
        <aside className="stack">
          <AsCommand operation="viewSystem" cli={['millrace health']} manual="deploying" />
        </aside>
      </div>
    </>
  );
}

function StateChip({ system: { ready, parts } }: { system: SystemState }) {
  const away = parts.filter((part) => !part.ready).length;
  if (ready) return <Chip tone="ok">All parts are ready</Chip>;
  return <Chip tone="bad">{away === 1 ? '1 part is not ready' : `${away} parts are not ready`}</Chip>;
}

type Part = SystemState['parts'][number];

const COLUMNS: readonly Column<Part>[] = [
  { title: 'Part', cell: ({ name }) => <code>{name}</code> },
  { title: 'State', cell: (part) => <PartState part={part} /> },
  { title: 'Version', cell: ({ version }) => version ?? <span className="quiet">–</span> },
];

function PartState({ part: { ready, required, reason } }: { part: Part }) {
  if (ready) return <Chip tone="ok">ready</Chip>;
  return (
    <span className="tight">
      <span>
        <Chip tone={required ? 'bad' : 'warn'}>not ready</Chip> {reason}
      </span>
      <span className="small second">
        {required
          ? 'Servers refuse requests until it is back.'
          : 'Requests are taken; their work waits until it is back.'}
      </span>
    </span>
  );
}
