/** One System of Records: its attributes, its keys on a press, and the recipients of mails about its imports. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useId } from 'react';
import type { ViewedSystemOfRecords } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { countText, Id } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { Attributes } from './sor-attributes.tsx';
import { ORIGINS } from './sors.tsx';

export function SorPage() {
  const { id = '' } = useParams({ strict: false });
  const params = { sor_identifier: id };
  const read = useRead('viewSystemOfRecord', { params, query: { secrets: false } });
  return (
    <Shown
      result={read}
      head={<Head title="System of Records" within={{ title: 'Systems of Records', to: '/sors', name: id }} />}
    >
      {(sor) => (
        <>
          <SorHead sor={sor} />
          <div className="cols">
            <Attributes sor={sor} />
            <div className="stack">
              <Panel title="Keys">
                <Audited operation="viewSystemOfRecord" what="its keys">
                  {() => <Keys id={id} />}
                </Audited>
              </Panel>
              <Recipients id={id} />
              <AsCommand
                operation="viewSystemOfRecord"
                params={params}
                cli={[`millrace sors view ${id}`, `millrace attributes list ${id}`]}
                manual="command-line"
              />
            </div>
          </div>
        </>
      )}
    </Shown>
  );
}

function SorHead({ sor }: { sor: ViewedSystemOfRecords }) {
  const { identifier, name, type, disabled, attributes_count } = sor;
  return (
    <Head
      within={{ title: 'Systems of Records', to: '/sors', name: identifier }}
      title={name}
      state={disabled ? <Chip tone="warn">Disabled: takes no values</Chip> : <Chip tone="ok">Takes values</Chip>}
      actions={<Actions sor={sor} />}
      facts={
        <>
          <span>
            values come from <b>{ORIGINS[type]}</b>
          </span>
          <span>
            <b>{countText(attributes_count)}</b> attributes
          </span>
          <Id value={identifier} />
        </>
      }
    />
  );
}

const CHANGED = ['viewSystemOfRecord', 'listSystemsOfRecords'] as const;

function Actions({ sor: { identifier, name, type, disabled } }: { sor: ViewedSystemOfRecords }) {
  const navigate = useNavigate();
  const params = { sor_identifier: identifier };
  const remove = useAction('deleteSystemOfRecord', {
    changes: ['listSystemsOfRecords'],
    onDone: () => void navigate({ to: '/sors' }),
  });
  const disable = useAction('disableSystemOfRecord', { changes: CHANGED });
  const enable = useAction('enableSystemOfRecord', { changes: CHANGED });
  if (type === 'global') return null;
  return (
    <>
      {enable.error && <Refused refusal={enable.error} />}
      <ConfirmButton
        operation="deleteSystemOfRecord"
        title={`Delete ${name} with all its values?`}
        says={
          type === 'app'
            ? 'Its attributes and all their values of all people go for good. The app gets a new, empty one at once.'
            : 'Its attributes and all their values of all people go for good, and so do its keys.'
        }
        yes="Delete it with its values"
        typed={name}
        sent={remove}
        onYes={(options) => remove.mutate({ params }, options)}
      >
        Delete
      </ConfirmButton>
      {disabled ? (
        <ActionButton
          operation="enableSystemOfRecord"
          isBusy={enable.isPending}
          onPress={() => enable.mutate({ params })}
        >
          Enable
        </ActionButton>
      ) : (
        <ConfirmButton
          operation="disableSystemOfRecord"
          title={`Disable ${name}?`}
          says="Imports, feeds, syncs and SDKs that write to it are refused until it is enabled again. Its values stay."
          yes="Disable it"
          kind=""
          sent={disable}
          onYes={(options) => disable.mutate({ params }, options)}
        >
          Disable
        </ConfirmButton>
      )}
    </>
  );
}

function Keys({ id }: { id: string }) {
  const result = useRead(
    'viewSystemOfRecord',
    { params: { sor_identifier: id }, query: { secrets: true } },
    { isForgotten: true },
  );
  return (
    <Shown result={result}>
      {({ api_keys = [] }) =>
        api_keys.length === 0 ? (
          <Empty says="It has no key: values come from elsewhere." />
        ) : (
          <ul className="body">
            {api_keys.map((key) => (
              <li key={key}>
                <Id value={key} />
              </li>
            ))}
            <li className="small quiet">
              A key lets a file or a call write values. The page forgets it when you leave.
            </li>
          </ul>
        )
      }
    </Shown>
  );
}

function Recipients({ id }: { id: string }) {
  const fieldId = useId();
  const params = { sor_identifier: id };
  const read = useRead('viewNotifyEmails', { params });
  const update = useAction('updateNotifyEmails', { changes: ['viewNotifyEmails'] });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const emails = textOf(event.currentTarget, 'emails')
      .split(/[\s,;]+/)
      .filter(Boolean);
    update.mutate({ params, body: { notify_emails: emails } });
  };
  return (
    <Panel title="Mails about imports">
      <Shown result={read}>
        {({ notify_emails }) => (
          <form className="body" onSubmit={send} key={notify_emails.join()}>
            <div className="field">
              <label htmlFor={fieldId}>To these addresses</label>
              <textarea
                className="input area"
                id={fieldId}
                name="emails"
                defaultValue={notify_emails.join('\n')}
                spellCheck={false}
              />
              <span className="hint">One a line, 20 at most. Empty: its creator gets them.</span>
            </div>
            {update.error && <Refused refusal={update.error} />}
            {update.isSuccess && <p role="status">Saved.</p>}
            <div>
              <button type="submit" className="btn" disabled={update.isPending}>
                Save the addresses
              </button>
            </div>
          </form>
        )}
      </Shown>
    </Panel>
  );
}
