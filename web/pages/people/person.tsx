/** One person: an audited look, made once, shows ids, devices and counts; its tabs read on under the same look. */
import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import type { CreatedGdprHold, ListedGdprRequest, Person } from '../../../api/client.ts';
import { LOOK_MS } from '../../../domain/analytics/person.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import type { Tone } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { PEOPLE_PATH, type PersonId, PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { useSecondsLeft } from '../../parts/seconds-left.ts';
import { Tabs } from '../../parts/tabs.tsx';
import { countText, Id, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { Ask } from '../gdpr/ask.tsx';
import { Place, Placed } from '../gdpr/place-hold.tsx';
import { ReceiptsOfPerson } from '../gdpr/receipts.tsx';
import { Counts } from './counts.tsx';
import { Messages } from './messages.tsx';
import { Attributes, Copies, LeftOut, Privacy, Segments } from './tabs.tsx';
import { PersonTimeline } from './person-timeline.tsx';

const WITHIN = { title: 'People', to: PEOPLE_PATH, name: 'one person' };

export function PersonPage({ person, isAsked }: { person: PersonId; isAsked: boolean }) {
  return (
    <Audited
      operation="viewPerson"
      what="this person"
      isAsked={isAsked}
      frame={(asks) => (
        <>
          <Head title="Person" within={WITHIN} facts={<Named person={person} />} />
          <section className="panel">{asks}</section>
        </>
      )}
    >
      {() => <Looked person={person} />}
    </Audited>
  );
}

function Named({ person: { kind, id } }: { person: PersonId }) {
  return (
    <span>
      {kind === 'user_id' ? 'user' : 'device'} <Id value={id} />
    </span>
  );
}

function Looked({ person }: { person: PersonId }) {
  const viewed = useRead('viewPerson', { body: { [person.kind]: person.id } });
  return (
    <Shown result={viewed} head={<Head title="Person" within={WITHIN} facts={<Named person={person} />} />}>
      {(data) => {
        if (data.erasure?.erased_at) return <Head title="erased person" />;
        return data.known ? <Known person={person} data={data} viewed={viewed} /> : <Unknown person={person} />;
      }}
    </Shown>
  );
}

/** Says that nothing is known of the id, and whether it was erased, to those who may know. */
function Unknown({ person }: { person: PersonId }) {
  return (
    <>
      <Head title="Unknown id" within={WITHIN} facts={<Named person={person} />} />
      <Panel title="Was it erased?">
        <Empty says="Millrace knows nothing of this id, or no longer. It may be written differently: ids are compared whole." />
        <Audited operation="listReceiptsOfPerson" what="its receipts">
          {() => <ReceiptsOfPerson person={person} />}
        </Audited>
      </Panel>
    </>
  );
}

type Viewed = { dataUpdatedAt: number; isFetching: boolean; refetch: () => unknown };
type Hold = NonNullable<Person['holds']>[number];

function Known({ person, data, viewed }: { person: PersonId; data: Person; viewed: Viewed }) {
  // A look is not repeated after an action: its result is shown beside what the look has found.
  const [placed, setPlaced] = useState<CreatedGdprHold | null>(null);
  const holds = [
    ...(data.holds ?? []),
    ...(placed ? [{ ...placed, hold_id: placed.identifier }] : []).filter(
      ({ hold_id: id }) => !data.holds?.some((known) => known.hold_id === id),
    ),
  ];
  return (
    <>
      <Head
        title={<span className="mono wraps">{person.id}</span>}
        within={WITHIN}
        state={<Chip tone="neutral">{person.kind === 'user_id' ? 'user' : 'device'}</Chip>}
        facts={<LookFacts viewed={viewed} />}
        actions={<Actions person={person} isHeld={holds.length > 0} onPlaced={setPlaced} />}
      />
      {placed?.deletion_under_way && <Placed hold={placed} />}
      <Holds holds={holds} />
      <Counts data={data} />
      <div className="cols">
        <Devices data={data} />
        <Identifiers data={data} />
      </div>
      <Panel title="Details">
        <Details person={person} data={data} holds={holds} />
      </Panel>
      <AsCommand
        operation="viewPerson"
        body={{ [person.kind]: '<id>' }}
        cli={
          person.kind === 'user_id'
            ? ['millrace people view <id>', 'millrace people timeline <id>']
            : ['millrace people view <id> --device', 'millrace people timeline <id> --device']
        }
        manual="reading"
      />
    </>
  );
}

/** The server's hour begins before its answer is here: the page's own ends sooner. */
const PAGE_LOOK_MS = LOOK_MS - 60_000;

/** Says that the look was written once, and after its hour that reading on writes more. */
function LookFacts({ viewed }: { viewed: Viewed }) {
  const isOver = useSecondsLeft(viewed.dataUpdatedAt + PAGE_LOOK_MS) === 0;
  return (
    <>
      <span>
        <Icon name="eye" /> This look was written into the audit log{isOver ? '' : ', once'}:{' '}
        <When at={viewed.dataUpdatedAt} />
        {isOver && '. Its hour is over: what you read on here writes one more entry each time.'}
      </span>
      <button type="button" className="link" disabled={viewed.isFetching} onClick={() => void viewed.refetch()}>
        Look again (one more entry)
      </button>
    </>
  );
}

function Holds({ holds }: { holds: readonly Hold[] }) {
  return holds.map(({ hold_id: id, kind, reason, created_at: at }) => (
    <p className="note bad" key={id}>
      <Icon name="lock" />
      <span>
        {kind === 'hold' ? 'On hold' : 'Restricted'} since <When at={at} />: {reason}. No deletion of this person goes
        on before the <Link to="/privacy/holds">release</Link>.
      </span>
    </p>
  ));
}

type Asked = ListedGdprRequest['type'] | 'hold';

function Actions({
  person,
  isHeld,
  onPlaced,
}: {
  person: PersonId;
  isHeld: boolean;
  onPlaced: (hold: CreatedGdprHold) => void;
}) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const onClose = (): void => setAsked(null);
  return (
    <>
      {person.kind === 'user_id' && (
        <>
          <ActionButton operation="requestAccess" onPress={() => setAsked('access')}>
            Request access
          </ActionButton>
          <ActionButton operation="requestDeletion" kind="danger" onPress={() => setAsked('delete')}>
            Request deletion
          </ActionButton>
        </>
      )}
      {!isHeld && (
        <ActionButton operation="createGdprHold" onPress={() => setAsked('hold')}>
          Put on hold
        </ActionButton>
      )}
      {asked === 'hold' && <Place person={person} onPlaced={onPlaced} onClose={onClose} />}
      {asked !== null && asked !== 'hold' && <Ask type={asked} users={[person.id]} onClose={onClose} />}
    </>
  );
}

type Linked = NonNullable<Person['identifiers']>[number];

const LINKS: Record<Linked['link'], string> = {
  earlier: 'became this person',
  later: 'this person became it',
  user: 'used this device',
};

const ORIGIN_TONES: Record<Linked['origin'], Tone> = { vouched: 'ok', confirmed: 'ok', claimed: 'warn' };
const ORIGIN_SAYS: Record<Linked['origin'], string> = {
  vouched: "Vouched: a user token of the app's server says so",
  confirmed: 'Confirmed: staff say so',
  claimed: 'Claimed: an SDK alone says so',
};

function Origin({ origin }: { origin: Linked['origin'] }) {
  return (
    <span title={ORIGIN_SAYS[origin]}>
      <Chip tone={ORIGIN_TONES[origin]}>{origin}</Chip>
    </span>
  );
}

function Identifiers({ data }: { data: Person }) {
  return (
    <Panel title="Linked ids">
      {data.identifiers === null ? (
        <LeftOut data={data} part="identifiers" />
      ) : data.identifiers.length === 0 ? (
        <Empty says="No other id is linked to this one." />
      ) : (
        <ul className="body">
          {data.identifiers.map((linked) => (
            <li key={`${linked.link} ${linked.app_id} ${linked.user_id}`} className="tight">
              <PersonLink kind="user_id" id={linked.user_id} />
              <span className="facts">
                <Origin origin={linked.origin} />
                <span>
                  {LINKS[linked.link]}
                  {linked.app_id !== null && (
                    <>
                      {' '}
                      in <code className="wraps">{linked.app_id}</code>
                    </>
                  )}
                </span>
                <When at={linked.since} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <LeftOut data={data} part="identifiers" isPart />
    </Panel>
  );
}

type Device = NonNullable<Person['devices']>[number];

/** Devices that show before a press: a test phone or a shared key may have a thousand. */
const FIRST_DEVICES = 5;

function Devices({ data }: { data: Person }) {
  const [isWhole, setWhole] = useState(false);
  const all = data.devices ?? [];
  const shown = isWhole ? all : all.slice(0, FIRST_DEVICES);
  return (
    <Panel title="Apps and devices">
      {data.devices === null ? (
        <LeftOut data={data} part="devices" />
      ) : (
        <DataTable
          caption="Devices"
          columns={[
            { title: 'Device', cell: (device) => <DeviceText device={device} /> },
            { title: 'Push', cell: ({ push }) => <Push push={push} /> },
            { title: 'Origin', cell: ({ origin }) => <Origin origin={origin} /> },
            { title: 'Last seen', cell: ({ last_seen_at: at }) => <When at={at} /> },
          ]}
          rows={shown}
          keyOf={({ app_id: app, device_id: id }) => `${app} ${id}`}
          empty={<Empty says="No device: no SDK has reported one for this id." />}
        />
      )}
      {shown.length < all.length && (
        <footer>
          <button type="button" className="btn plain" onClick={() => setWhole(true)}>
            Show all {countText(all.length)} devices
          </button>
          <span>the last seen come first</span>
        </footer>
      )}
      <LeftOut data={data} part="devices" isPart />
    </Panel>
  );
}

function DeviceText({ device }: { device: Device }) {
  return (
    <span className="tight">
      <PersonLink kind="device_id" id={device.device_id} />
      <span className="small quiet">
        <code className="wraps">{device.app_id}</code> {versionsOf(device)}
      </span>
    </span>
  );
}

function Push({ push: { reaches, code, reason } }: Pick<Device, 'push'>) {
  return reaches ? (
    <Chip tone="ok">reachable</Chip>
  ) : (
    <span title={reason ?? undefined}>
      <Chip tone="warn">{code}</Chip>
      <span className="sr"> {reason}</span>
    </span>
  );
}

function versionsOf({ app_version: app, os_version: os, device_model: model }: Device): string {
  return [app, os, model].filter((each) => each !== null && each !== '').join(', ');
}

function Details({ person, data, holds }: { person: PersonId; data: Person; holds: readonly Hold[] }) {
  const look = { [person.kind]: person.id, look: data.look };
  const count = (value: number | undefined) =>
    value === undefined ? undefined : <span className="quiet">{countText(value)}</span>;
  return (
    <Tabs
      label="Details of the person"
      tabs={[
        { value: 'timeline', title: 'Timeline', content: () => <PersonTimeline look={look} data={data} /> },
        {
          value: 'attributes',
          title: 'Attributes',
          count: count(data.attributes?.reduce((sum, { values }) => sum + values, 0)),
          content: () => <Attributes look={look} data={data} />,
        },
        {
          value: 'messages',
          title: 'Messages',
          count: count(data.messages?.count),
          content: () => <Messages look={look} data={data} />,
        },
        {
          value: 'segments',
          title: 'Segments',
          count: count(data.segments?.length),
          content: () => <Segments look={look} data={data} />,
        },
        {
          value: 'privacy',
          title: 'Privacy',
          count: count(data.requests?.length),
          content: () => <Privacy person={person} data={data} holds={holds} />,
        },
        { value: 'copies', title: 'Copies', content: () => <Copies /> },
      ]}
    />
  );
}
