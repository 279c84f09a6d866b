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
      <Head title="Home" facts={<span>What fails, waits or is late in {session.entity.name}.</span>} />
      <div className="cols">
        <Panel title="What needs you" end={items.length > 0 && <Chip tone="bad">{items.length}</Chip>}>
          <DataTable
            caption="What needs you"
            columns={[
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
  unknown_outcome: 'unknown',
};

/** Instructions for the console in place of those that name calls of the API. */
const TO_DO: Record<string, string> = {
  'open_rows import':
    'Open it, correct the rows in the page, and re-drive them. Import a file again whose rest was not read.',
  'missing_windows exporter': 'Open it to see the days, and run it now.',
  'provider_refuses app': 'Open it to see what its provider says, and check the provider.',
  'unknown_outcome campaign':
    'Open it to see how many. Such a push may have arrived, and is not sent again. This goes a week after the last one.',
};

function Reason({ item: { kind, object, reason, what_to_do } }: { item: AttentionItem }) {
  return (
    <span className="tight">
      <span>
        <Chip tone={TONES[kind] ?? 'bad'}>{kind.replaceAll('_', ' ')}</Chip> <Instants text={reason} />
      </span>
      <span className="small second wraps">{TO_DO[`${kind} ${object.type}`] ?? what_to_do}</span>
    </span>
  );
}

/** Shows a text of the server; instants in it stand in the zone of the top line. */
function Instants({ text }: { text: string }) {
  return text
    .split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 1 ? <When key={part} at={part} /> : part));
}

const PLACES: Partial<Record<AttentionItem['object']['type'], string>> = {
  import: '/imports',
  sync: '/syncs',
  exporter: '/exports',
  campaign: '/campaigns',
  privacy_request: '/privacy',
  app: '/apps',
  segment: '/segments',
  send: '/sends',
};

/** Shows the object of an entry as a link to its page, if it has one, and since when it needs somebody. */
function Subject({ item: { object, since } }: { item: AttentionItem }) {
  const { type, id } = object;
  const place = PLACES[type];
  return (
    <>
      {place === undefined || id === null ? (
        nameOf(object)
      ) : (
        <Link to={`${place}/${encodeURIComponent(id)}`} search={(type === 'app' ? { tab: 'push' } : {}) as never}>
          {nameOf(object)}
        </Link>
      )}
      <br />
      {place !== undefined && <span className="small quiet mono">{id}</span>}
      {place !== undefined && <br />}
      <span className="small quiet">
        since <When at={since} />
      </span>
    </>
  );
}

/** Returns an object's name; that of a request is what it asks for. */
function nameOf({ type, id, name }: AttentionItem['object']): string {
  const words = capital(type.replaceAll('_', ' '));
  if (type === 'privacy_request') return `${words}: ${name === 'delete' ? 'deletion' : name}`;
  if (name !== null) return name;
  return id === null || PLACES[type] !== undefined ? words : `${words} ${id}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
