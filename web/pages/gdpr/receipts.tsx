/** Receipts of one person by id, and the check of a receipt that came as a file. */
import { useLocation } from '@tanstack/react-router';
import { type FormEvent, useId, useState } from 'react';
import { AsCommand } from '../../parts/as-command.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Skeleton } from '../../parts/panel.tsx';
import type { PersonId } from '../../parts/person-link.tsx';
import { NextPage, UnreadList } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useList } from '../../session/calls.ts';
import { CheckFile } from './check-file.tsx';
import { Receipt } from './receipt-list.tsx';

const KINDS = [
  ['user_id', 'user id'],
  ['device_id', 'device id'],
] as const;

export function Receipts() {
  const [person, setPerson] = useState<PersonId | null>(null);
  return (
    <>
      <Head
        title="Receipts"
        facts={
          <span>
            A signed proof of each erasure and access. Receipts hold keyed hashes in place of ids, and stay for good.
          </span>
        }
      />
      <div className="cols">
        <div className="stack">
          <Panel title="Whose receipt?">
            <PersonForm onAsk={setPerson} />
            {person && <ReceiptsOfPerson key={`${person.kind} ${person.id}`} person={person} />}
          </Panel>
          <CheckFile />
        </div>
        <aside className="stack">
          <AsCommand
            operation="listReceiptsOfPerson"
            cli={[
              'millrace gdpr receipt --user <id> --out receipts.json',
              'millrace verify receipts.json \\\n  --jwks "$MILLRACE_URL/.well-known/jwks.json"',
            ]}
            manual="gdpr"
          />
        </aside>
      </div>
    </>
  );
}

/** Begins with the id of the fragment, which no server and no log gets. */
function PersonForm({ onAsk }: { onAsk: (person: PersonId) => void }) {
  const given = new URLSearchParams(useLocation().hash);
  const [kind, id] = [useId(), useId()];
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const asked = KINDS.find(([value]) => value === textOf(form, 'kind'))?.[0] ?? 'user_id';
    onAsk({ kind: asked, id: textOf(form, 'id') });
  };
  return (
    <form className="body" onSubmit={send}>
      <div className="two">
        <div className="field">
          <label htmlFor={kind}>Kind of id</label>
          <select
            className="input"
            id={kind}
            name="kind"
            defaultValue={given.has('device_id') ? 'device_id' : 'user_id'}
          >
            {KINDS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={id}>Id of the person</label>
          <input
            className="input mono"
            id={id}
            name="id"
            data-filter
            autoComplete="off"
            defaultValue={given.get('user_id') ?? given.get('device_id') ?? ''}
            required
          />
        </div>
      </div>
      <p className="second">
        <Icon name="eye" /> Reading the receipts is written into the audit log. Any id that the person had will do.
      </p>
      <div>
        <button type="submit" className="btn main">
          Show the receipts
        </button>
      </div>
    </form>
  );
}

export function ReceiptsOfPerson({ person: { kind, id } }: { person: PersonId }) {
  const found = useList('listReceiptsOfPerson', {
    query: { ...(kind === 'user_id' ? { user_id: id } : { device_id: id }), per_page: 20 },
  });
  const receipts = found.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      {found.isPending && <Skeleton />}
      {found.isSuccess && receipts.length === 0 && (
        <Empty says="No receipt names this person. Nothing was erased or shown under this id, or it is written differently." />
      )}
      <UnreadList more={found} />
      {receipts.map((receipt) => (
        <Receipt key={receipt.receipt} receipt={receipt} />
      ))}
      <NextPage more={found}>Older receipts</NextPage>
    </>
  );
}
