/** The ids linked to the people of a request, and the decisions on aliases that only an SDK has reported. */
import { type ComponentProps, useState } from 'react';
import type { IdentifierLink } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';

const PAGE = 100;

export function Identifiers({ id, isWaiting }: { id: string; isWaiting: boolean }) {
  const links = useList('listGdprIdentifiers', { params: { request_id: id }, query: { per_page: PAGE } });
  return (
    <LinkTable
      links={links}
      advice={isWaiting ? 'Decide before you approve.' : 'A decision counts until the erasure begins.'}
      empty="No linked id. Once a person is treated, the ids that belong to them are no longer listed; the receipt says how many there were."
    />
  );
}

/** Shows the ids that a request for a user would cover. */
export function IdentifiersOfUser({ userId }: { userId: string }) {
  const links = useList('previewUserIdentifiers', { query: { user_id: userId, per_page: PAGE } });
  return (
    <LinkTable
      links={links}
      advice="Decide before you request access or deletion."
      empty="No other id is linked to this user."
    />
  );
}

type Links = ComponentProps<typeof DataTable>['more'] & { data?: { pages: { items: IdentifierLink[] }[] } | undefined };

function LinkTable({ links, advice, empty }: { links: Links; advice: string; empty: string }) {
  const rows = (links.data?.pages.flatMap(({ items }) => items) ?? []).toSorted(
    (one, other) => Number(waits(other)) - Number(waits(one)),
  );
  const open = rows.filter(waits).length;
  return (
    <>
      {open > 0 && (
        <p className="note warn">
          {open === 1 ? 'One alias waits' : `${open} aliases wait`} for a decision: only an SDK says that these ids are
          the same person. {advice}
        </p>
      )}
      <DataTable
        caption="Linked identifiers"
        columns={[
          { title: 'Person', cell: ({ person }) => (person === null ? '–' : <code>{person}</code>) },
          { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
          { title: 'Id', cell: ({ kind, id }) => <LinkedId kind={kind} id={id} /> },
          { title: 'Why', cell: (link) => <Why link={link} /> },
          { title: 'Said', cell: ({ said_at: at }) => <When at={at} /> },
        ]}
        rows={rows}
        keyOf={({ person, kind, id: value, via }) => [person, kind, value, via].join(' ')}
        empty={<Empty says={empty} />}
        more={links}
      />
    </>
  );
}

function LinkedId({ kind, id }: Pick<IdentifierLink, 'kind' | 'id'>) {
  return kind === 'push_token' ? (
    <Id value={id} />
  ) : (
    <PersonLink kind={kind === 'user_id' ? 'user_id' : 'device_id'} id={id} />
  );
}

const waits = ({ left_alone: reason, previous_id: previous }: IdentifierLink): boolean =>
  reason === 'unconfirmed' && previous !== null;

const ORIGINS: Record<NonNullable<IdentifierLink['origin']>, string> = {
  asked: 'the request names it',
  alias: 'an SDK reported the alias',
  confirmed: 'staff confirmed the alias',
  device: 'the person used it',
};

const LEFT: Record<NonNullable<IdentifierLink['left_alone']>, string> = {
  unconfirmed: 'only an SDK links it',
  shared: 'other people use it',
  too_many: 'beyond the first 1,000',
};

function Why({ link }: { link: IdentifierLink }) {
  const { origin, left_alone: left, via } = link;
  return (
    <span className="tight">
      <span>
        {left === null ? (
          origin !== null && ORIGINS[origin]
        ) : (
          <>
            <Chip tone="warn">left alone</Chip> {LEFT[left]}
          </>
        )}
        {via !== null && (
          <>
            , by <code>{via}</code>
          </>
        )}
      </span>
      {waits(link) && <DecideAlias link={link} />}
    </span>
  );
}

const DECISIONS = [
  ['confirmed', 'Same person'],
  ['refused', 'Not the same'],
] as const;

/** The list is an audited look, so a decision is shown here, and the list is not read again. */
function DecideAlias({ link: { id, via, previous_id: previous } }: { link: IdentifierLink }) {
  const [decided, setDecided] = useState<string | null>(null);
  const decide = useAction('decideAlias', { onDone: ({ decision }) => setDecided(decision) });
  if (previous === null || via === null) return null;
  const later = previous === id ? via : id;
  return (
    <span className="filters">
      {DECISIONS.map(([decision, words]) => (
        <ActionButton
          key={decision}
          operation="decideAlias"
          isBusy={decide.isPending || decided === decision}
          onPress={() => decide.mutate({ body: { previous_id: previous, user_id: later, decision } })}
        >
          {words}
        </ActionButton>
      ))}
      {decided !== null && (
        <span role="status">
          <Chip tone={decided === 'confirmed' ? 'ok' : 'neutral'}>{decided}</Chip>
        </span>
      )}
      {decide.error && <Refused refusal={decide.error} />}
    </span>
  );
}
