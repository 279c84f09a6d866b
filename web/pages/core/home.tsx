/** The entries of `listAttention`: each needs the person, and says what to do. */
import { Link } from '@tanstack/react-router';
import type { AttentionItem } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import type { Tone } from '../../parts/balance.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

export function Home() {
  const { session } = useSession();
  const attention = useList('listAttention', { query: {} });
  const items = attention.data?.pages.flatMap((page) => page.attention) ?? [];
  return (
    <>
      <Head title="Home" facts={<span>{session.entity.name}</span>} />
      <div className="cols">
        <Panel title="What needs you" end={items.length > 0 && <Chip tone="bad">{items.length}</Chip>}>
          <DataTable
            caption="What needs you"
            columns={[
              { title: 'Since', cell: ({ since }) => <When at={since} /> },
              { title: 'What', cell: (item) => <Subject item={item} /> },
              { title: 'Why, and what to do', cell: (item) => <Reason item={item} /> },
            ]}
            rows={items}
            keyOf={({ kind, object, since }) => `${kind} ${object.type} ${object.id} ${object.run} ${since}`}
            empty={<Empty says="Nothing needs you. What fails, waits or is late is listed here." />}
            more={attention}
          />
        </Panel>
        <aside className="stack">
          <AsCommand operation="listAttention" cli={['millrace attention']} manual="attention" />
        </aside>
      </div>
    </>
  );
}

const TONES: Partial<Record<AttentionItem['kind'], Tone>> = {
  waiting_for_approval: 'info',
  paused: 'warn',
  overdue: 'warn',
  open_rows: 'warn',
};

function Reason({ item: { kind, reason, what_to_do } }: { item: AttentionItem }) {
  return (
    <span className="tight">
      <span>
        <Chip tone={TONES[kind] ?? 'bad'}>{kind.replaceAll('_', ' ')}</Chip> {reason}
      </span>
      <span className="small second">{what_to_do}</span>
    </span>
  );
}

const PLACES: Partial<Record<AttentionItem['object']['type'], string>> = {
  import: '/imports',
  sync: '/syncs',
  exporter: '/exports',
  privacy_request: '/privacy',
};

/** Shows the object of an entry as a link to its page, if it has one. */
function Subject({ item: { object } }: { item: AttentionItem }) {
  const { type, id, name } = object;
  const words = name ?? (id === null ? type.replaceAll('_', ' ') : `${type.replaceAll('_', ' ')} ${id}`);
  const place = PLACES[type];
  return place === undefined || id === null ? words : <Link to={`${place}/${encodeURIComponent(id)}`}>{words}</Link>;
}
