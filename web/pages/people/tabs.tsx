/** Tabs of a person beside the timeline. What needs a right that is missing says so, and the others stay. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Person, TimelineEntry } from '../../../api/client.ts';
import { Audited } from '../../parts/audited.tsx';
import { Chip } from '../../parts/head.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Shown, Skeleton } from '../../parts/panel.tsx';
import type { PersonId } from '../../parts/person-link.tsx';
import { DataTable, NextPage, UnreadList } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import type { OperationName } from '../../session/api.ts';
import { useList, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { IdentifiersOfUser } from '../gdpr/identifiers.tsx';
import { HOLD_WORDS } from '../gdpr/place-hold.tsx';
import { ReceiptsOfPerson } from '../gdpr/receipts.tsx';
import { TYPE_WORDS } from '../gdpr/request-state.tsx';
import { SegmentWhy } from './segment-why.tsx';

/** The person, and the look that lets calls read on without a further audit entry. */
export type Look = { user_id?: string; device_id?: string; look: string };

const PAGE = 100;

/** Says why a part is missing, or with `isPart` why it is not whole. */
export function LeftOut({ data, part, isPart = false }: { data: Person; part: string; isPart?: boolean }) {
  const left = data.left_out.find((each) => each.part === part);
  if (!left || isPart !== (left.right === null)) return null;
  return <p className={isPart ? 'note warn' : 'body second'}>{left.reason}.</p>;
}

export function Attributes({ look, data }: { look: Look; data: Person }) {
  return data.attributes === null ? (
    <LeftOut data={data} part="attributes" />
  ) : (
    <Values look={look} sors={data.attributes} />
  );
}

type Value = Extract<TimelineEntry, { kind: 'attribute' }>;

function Values({ look, sors }: { look: Look; sors: NonNullable<Person['attributes']> }) {
  const read = useList('viewTimeline', { body: { ...look, kinds: ['attribute'], per_page: PAGE } });
  const values = read.data?.pages.flatMap(({ entries }) => entries).filter((entry) => entry.kind === 'attribute') ?? [];
  if (read.isPending) return <Skeleton />;
  return (
    <>
      <UnreadList more={read} />
      {values.length === 0 && !read.error && <Empty says="No System of Records has a value of this id." />}
      {sors.map(({ sor_id: id, name }) => (
        <section key={id} aria-label={name} hidden={!values.some((value) => value.sor_id === id)}>
          <h3 className="body">
            <Link to={`/sors/${id}`}>{name}</Link>
          </h3>
          <DataTable
            caption={`Values in ${name}`}
            columns={[
              { title: 'Attribute', cell: ({ attribute_key: key }) => <code>{key}</code> },
              { title: 'Value', cell: (value) => <ValueText value={value} /> },
              { title: 'Type', cell: ({ value_type: type }) => type },
              { title: 'Since', cell: ({ at }) => <When at={at} /> },
            ]}
            rows={values.filter((value) => value.sor_id === id)}
            keyOf={({ attribute_key: key }) => key}
            empty={null}
          />
        </section>
      ))}
      <NextPage more={read} />
    </>
  );
}

export function ValueText({ value }: { value: Value }) {
  if (value.removed) return <span className="quiet">removed</span>;
  if (value.elements === null) return <span className="wraps">{value.value}</span>;
  return (
    <span className="chips">
      {value.elements.map((element) => (
        <Chip key={element} tone="neutral">
          {element}
        </Chip>
      ))}
    </span>
  );
}

export function Segments({ look, data }: { look: Look; data: Person }) {
  if (data.segments === null) return <LeftOut data={data} part="segments" />;
  return (
    <>
      <DataTable
        caption="Segments that have the person"
        columns={[
          { title: 'Segment', cell: ({ name }) => name },
          { title: 'App', cell: ({ app_id: app }) => <code className="wraps">{app}</code> },
          { title: 'As of', cell: ({ as_of: at }) => <When at={at} /> },
        ]}
        rows={data.segments}
        keyOf={({ segment_id: id }) => id}
        empty={<Empty says="No segment had this person at its last refresh." />}
      />
      <LeftOut data={data} part="segments" isPart />
      <SegmentWhy look={look} />
    </>
  );
}

type Hold = NonNullable<Person['holds']>[number];

export function Privacy({ person, data, holds }: { person: PersonId; data: Person; holds: readonly Hold[] }) {
  if (data.requests === null) return <LeftOut data={data} part="requests" />;
  const { kind, id } = person;
  return (
    <>
      <h3 className="body">Requests</h3>
      <DataTable
        caption="Privacy requests"
        columns={[
          {
            title: 'Request',
            cell: ({ request_id: request, request_type: type }) => (
              <Link to={`/privacy/${request}`}>
                {TYPE_WORDS[type]} <code>{request}</code>
              </Link>
            ),
          },
          { title: 'State', cell: ({ state }) => state },
          { title: 'This person', cell: ({ person_state: state }) => state },
          { title: 'Received', cell: ({ received_at: at }) => <When at={at} /> },
        ]}
        rows={data.requests}
        keyOf={({ request_id: request }) => request}
        empty={<Empty says="No request names this person." />}
      />
      <h3 className="body">Holds</h3>
      <DataTable
        caption="Holds"
        columns={[
          { title: 'Hold', cell: ({ kind: of }) => HOLD_WORDS[of] },
          { title: 'Reason', cell: ({ reason }) => reason },
          { title: 'Since', cell: ({ created_at: at }) => <When at={at} /> },
        ]}
        rows={holds}
        keyOf={({ hold_id: hold }) => hold}
        empty={<Empty says="No hold: a deletion goes on once it is approved." />}
      />
      {kind === 'user_id' && (
        <>
          <Audited operation="previewUserIdentifiers" what="the ids that a request covers">
            {() => <IdentifiersOfUser userId={id} />}
          </Audited>
          <Audited operation="listAliases" what="the aliases">
            {() => <Aliases userId={id} />}
          </Audited>
        </>
      )}
      <Audited operation="listReceiptsOfPerson" what="the receipts">
        {() => <ReceiptsOfPerson person={person} />}
      </Audited>
    </>
  );
}

function Aliases({ userId }: { userId: string }) {
  const read = useList('listAliases', { query: { user_id: userId, per_page: PAGE } });
  return (
    <DataTable
      caption="Aliases"
      columns={[
        { title: 'Earlier id', cell: ({ previous_id: id }) => <code>{id}</code> },
        { title: 'Later id', cell: ({ user_id: id }) => <code>{id}</code> },
        { title: 'Said', cell: ({ said_at: at }) => <When at={at} /> },
        {
          title: 'Decision',
          cell: ({ decision, witnessed }) => decision ?? (witnessed ? 'none needed: witnessed' : 'none yet'),
        },
      ]}
      rows={read.data?.pages.flatMap(({ items }) => items) ?? []}
      keyOf={({ previous_id: from, user_id: to, device_id: device }) => [from, to, device].join(' ')}
      empty={<Empty says="No alias: no SDK has said that this id became another." />}
      more={read}
    />
  );
}

export function Copies() {
  return (
    <>
      <p className="body second">
        Where data of people goes from here. Millrace sees whether a copy was sent, not which people a copy has now.
      </p>
      <Needs operation="listSyncs" what="Destinations of syncs">
        {() => <Destinations />}
      </Needs>
      <Needs operation="listDataExporters" what="Buckets of exporters">
        {() => <Buckets />}
      </Needs>
    </>
  );
}

function Needs({ operation, what, children }: { operation: OperationName; what: string; children: () => ReactNode }) {
  const missing = useSession().missingFor(operation);
  return (
    <section aria-label={what}>
      <h3 className="body">{what}</h3>
      {missing.length > 0 ? <p className="body second">{sayMissing(missing)}.</p> : children()}
    </section>
  );
}

function Destinations() {
  const read = useList('listSyncs', { query: { per_page: PAGE } });
  const syncs = read.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <DataTable
      caption="Syncs to outside systems"
      columns={[
        {
          title: 'Sync',
          cell: ({ identifier: id, name }) => <Link to={`/syncs/${id}`}>{name}</Link>,
        },
        { title: 'To', cell: ({ destination: { name, stream } }) => `${name ?? 'a deleted connection'}, ${stream}` },
      ]}
      rows={syncs.filter(({ destination }) => destination.connection !== undefined)}
      keyOf={({ identifier: id }) => id}
      empty={<Empty says="No sync writes to an outside system." />}
      more={read}
    />
  );
}

function Buckets() {
  const read = useRead('listDataExporters', {});
  return (
    <Shown result={read}>
      {(exporters) => (
        <DataTable
          caption="Exporters"
          columns={[
            {
              title: 'Exporter',
              cell: ({ identifier, name }) => <Link to={`/exports/${identifier}`}>{name}</Link>,
            },
            { title: 'Bucket', cell: ({ bucket_name: bucket }) => <code className="wraps">{bucket}</code> },
            { title: 'Data', cell: ({ exported_data: kinds }) => kinds.join(', ') },
            { title: 'Exported until', cell: ({ exported_until: at }) => <When at={at} /> },
          ]}
          rows={exporters}
          keyOf={({ identifier }) => identifier}
          empty={<Empty says="No exporter writes to a bucket." />}
        />
      )}
    </Shown>
  );
}
