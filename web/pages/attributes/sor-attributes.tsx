/** The attributes of a System of Records: what each means, a form that defines one, and a switch for each. */
import { type FormEvent, useId, useRef, useState } from 'react';
import type { SorAttribute, ViewedSystemOfRecords } from '../../../api/client.ts';
import { VALUE_TYPES } from '../../../domain/attributes/attribute-value.ts';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { countText } from '../../parts/values.tsx';
import { useAction } from '../../session/calls.ts';

const CHANGED = ['viewSystemOfRecord', 'listSystemsOfRecords'] as const;
/** From this number on, the list has a filter. */
const MANY = 12;

export function Attributes({ sor }: { sor: ViewedSystemOfRecords }) {
  const { customer_attributes: attributes, type } = sor;
  const [text, setText] = useState('');
  const [isDefining, setDefining] = useState(false);
  const isCustom = type === 'custom';
  const asked = text.toLowerCase();
  return (
    <Panel
      title={`Attributes: ${countText(attributes.length)}`}
      end={
        isCustom && !isDefining ? (
          <ActionButton operation="createCustomerAttribute" kind="main" onPress={() => setDefining(true)}>
            <Icon name="plus" />
            Define an attribute
          </ActionButton>
        ) : undefined
      }
    >
      {isDefining && <NewAttribute sor={sor} onEnd={() => setDefining(false)} />}
      {attributes.length > MANY && (
        <div className="body">
          <input
            className="input"
            data-filter
            aria-label="Filter the attributes"
            placeholder="Filter the attributes"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </div>
      )}
      <DataTable
        caption="Attributes"
        columns={COLUMNS}
        rows={attributes.filter(({ key, label }) => `${key} ${label}`.toLowerCase().includes(asked))}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty
            says={
              attributes.length > 0
                ? 'No attribute has this in its key or label.'
                : isCustom
                  ? 'No attribute yet. A value without one is ignored: define them first.'
                  : 'No attribute yet: they come with the first values.'
            }
          />
        }
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<SorAttribute>[] = [
  { title: 'Key', cell: ({ key }) => <code>{key}</code> },
  { title: 'Label', cell: ({ label }) => label },
  { title: 'Type', cell: ({ value_type, guessed }) => (guessed ? `${value_type}, guessed` : value_type) },
  {
    title: 'Marks',
    cell: ({ disabled, is_identifier, sensitive }) =>
      disabled || is_identifier || sensitive ? (
        <span className="chips">
          {disabled && <Chip tone="warn">disabled</Chip>}
          {is_identifier && <Chip tone="info">ids of people</Chip>}
          {sensitive && <Chip tone="unknown">sensitive</Chip>}
        </span>
      ) : null,
  },
  { title: 'Change', cell: (attribute) => <Change attribute={attribute} /> },
];

function Change({ attribute: { identifier, key, disabled } }: { attribute: SorAttribute }) {
  const params = { ca_identifier: identifier };
  const update = useAction('updateCustomerAttribute', { changes: CHANGED });
  if (disabled) {
    return (
      <>
        <ActionButton
          operation="updateCustomerAttribute"
          isBusy={update.isPending}
          onPress={() => update.mutate({ params, body: { disabled: false } })}
        >
          Enable
        </ActionButton>
        {update.error && <Refused refusal={update.error} />}
      </>
    );
  }
  return (
    <ConfirmButton
      operation="updateCustomerAttribute"
      title={`Disable ${key}?`}
      says="New values of it are ignored until it is enabled again. Those that it has stay."
      yes="Disable it"
      kind=""
      sent={update}
      onYes={(options) => update.mutate({ params, body: { disabled: true } }, options)}
    >
      Disable
    </ConfirmButton>
  );
}

function NewAttribute({ sor, onEnd }: { sor: ViewedSystemOfRecords; onEnd: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [keyId, labelId, typeId] = [useId(), useId(), useId()];
  const create = useAction('createCustomerAttribute', {
    changes: CHANGED,
    onDone: () => {
      form.current?.reset();
      form.current?.querySelector('input')?.focus();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const sent = event.currentTarget;
    const label = textOf(sent, 'label');
    const body = {
      sor_id: sor.identifier,
      key: textOf(sent, 'key'),
      ...(label === '' ? {} : { label }),
      value_type: VALUE_TYPES.find((type) => type === textOf(sent, 'value_type')) ?? 'String',
      is_identifier: textOf(sent, 'is_identifier') !== '',
      sensitive: textOf(sent, 'sensitive') !== '',
    };
    create.mutate({ body });
  };
  return (
    <form className="body" ref={form} onSubmit={send}>
      <div className="two">
        <div className="field">
          <label htmlFor={keyId}>Key</label>
          <input className="input mono" id={keyId} name="key" required autoComplete="off" autoFocus />
          <span className="hint">As files and calls name it, such as plan. It stays as it is.</span>
        </div>
        <div className="field">
          <label htmlFor={labelId}>
            Label<span className="quiet"> (optional)</span>
          </label>
          <input className="input" id={labelId} name="label" autoComplete="off" />
          <span className="hint">For people; the key if it is empty</span>
        </div>
        <div className="field">
          <label htmlFor={typeId}>Type</label>
          <select className="input" id={typeId} name="value_type">
            {VALUE_TYPES.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
          <span className="hint">It stays as it is</span>
        </div>
        <div className="field">
          <label>
            <input type="checkbox" name="is_identifier" /> Its values are ids of people
          </label>
          <span className="hint">A deletion removes them from filters, too</span>
          <label>
            <input type="checkbox" name="sensitive" /> Sensitive
          </label>
          <span className="hint">Filters that use it need sor_manage</span>
        </div>
      </div>
      {create.error && <Refused refusal={create.error} />}
      {create.data && <p role="status">Defined {create.data.key}.</p>}
      <div className="controls">
        <button type="button" className="btn" onClick={onEnd}>
          Done
        </button>
        <button type="submit" className="btn main" disabled={create.isPending}>
          Define it
        </button>
      </div>
    </form>
  );
}
