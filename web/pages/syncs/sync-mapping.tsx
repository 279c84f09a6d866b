/** The mapping of a sync: who a record is about, and which field becomes which attribute or field. */
import { useId } from 'react';
import { Field, AreaField, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';
import { CONSTANTS, CONVERSIONS, type Entry, KINDS, withEntry } from './sync-draft.ts';
import { ChoiceField, Suggestions, TextField, useSourceFields, useStream, useSyncForm } from './sync-fields.tsx';

/** From this number on, fields that are left are added by name. */
const MANY = 30;

export function MappingPanel() {
  const { draft, change, errorAt } = useSyncForm();
  const [fromId, toId] = [useId(), useId()];
  const known = useSourceFields();
  const used = new Set([draft.customerField, ...draft.fields.map(({ from }) => from)]);
  const left = known.filter(({ name }) => !used.has(name));
  const add = (...entries: Partial<Entry>[]): void => change({ fields: entries.reduce(withEntry, draft.fields) });
  const wrong = errorAt('mapping.fields');
  const targets = useTargets();
  return (
    <Panel title="Fields">
      <div className="body">
        {draft.to === 'sor' && <Person />}
        <Suggestions id={fromId} values={known.map(({ name }) => name)} />
        <Suggestions id={toId} values={targets} />
        {draft.fields.map((entry, index) => (
          <EntryRow key={entry.id} entry={entry} index={index} lists={{ fromId, toId }} />
        ))}
        {wrong !== undefined && <b className="wrong small">{wrong}</b>}
        <div className="filters" role="group" aria-label="Add a field">
          {left.slice(0, MANY).map(({ name, type }) => (
            <button key={name} type="button" className="toggle" onClick={() => add({ from: name })}>
              <Icon name="plus" />
              <code>{name}</code> <span className="quiet">{type}</span>
            </button>
          ))}
        </div>
        <div className="controls">
          {left.length > 1 && (
            <button type="button" className="btn" onClick={() => add(...left.map(({ name }) => ({ from: name })))}>
              Add all {left.length} fields
            </button>
          )}
          <button type="button" className="btn" onClick={() => add({})}>
            <Icon name="plus" />
            Add an entry
          </button>
        </div>
        <div className="two">
          <ChoiceField
            name="otherFields"
            at="mapping.other_fields"
            label="Other fields"
            hint="Fields of the source without an entry above."
            choices={[
              { value: 'drop', title: 'leave them out' },
              { value: 'keep', title: 'copy them under their own names' },
            ]}
          />
          <ChoiceField
            name="empty"
            at="mapping.empty"
            label="An empty text"
            hint="For fields that are converted, such as a date."
            choices={[
              { value: 'fail', title: 'fails the record' },
              { value: 'remove', title: 'removes the value' },
            ]}
          />
        </div>
      </div>
    </Panel>
  );
}

/** Returns the names that the destination has. */
function useTargets(): readonly string[] {
  const { draft } = useSyncForm();
  const isSor = draft.to === 'sor' && draft.sor !== '';
  const sor = useRead(
    'viewSystemOfRecord',
    { params: { sor_identifier: draft.sor }, query: { secrets: false } },
    { isWanted: isSor },
  );
  const stream = useStream(draft.toConnection, 'destination', draft.toStream);
  if (draft.to === 'connection') return (stream?.fields ?? []).map(({ name }) => name);
  return isSor && !sor.isPlaceholderData ? (sor.data?.customer_attributes ?? []).map(({ key }) => key) : [];
}

function Person() {
  const { errorAt } = useSyncForm();
  const known = useSourceFields();
  const wrong = errorAt('mapping.customer');
  const shared = {
    name: 'customerField',
    at: 'mapping.customer.field',
    label: 'The field that names the person',
    hint: wrong === undefined ? 'Such as customer_id: the attributes are of this person.' : <b>{wrong}</b>,
  } as const;
  return (
    <div className="two">
      {known.length > 0 ? (
        <ChoiceField {...shared} choices={known.map(({ name }) => ({ value: name, title: name }))} />
      ) : (
        <TextField {...shared} />
      )}
      <ChoiceField
        name="customerType"
        at="mapping.customer.type"
        label="It is"
        choices={[
          { value: 'user_id', title: 'a user id' },
          { value: 'device_id', title: 'a device id' },
        ]}
      />
    </div>
  );
}

type RowProps = { entry: Entry; at: (member: string) => string | undefined; change: (changed: Partial<Entry>) => void };

function EntryRow({ entry, index, lists }: { entry: Entry; index: number; lists: { fromId: string; toId: string } }) {
  const form = useSyncForm();
  const { fields } = form.draft;
  const at = (member: string): string | undefined =>
    form.errorAt(`mapping.fields.${index}${member === '' ? '' : `.${member}`}`);
  const change = (changed: Partial<Entry>): void =>
    form.change({ fields: fields.map((each) => (each.id === entry.id ? { ...each, ...changed } : each)) });
  const row = { entry, at, change };
  const wrong = at('');
  return (
    <fieldset className="entry">
      <legend>
        {index + 1}. {entry.from || entry.to || 'new entry'}
      </legend>
      <div className="entry-row">
        <SelectField
          label="Take"
          value={entry.kind}
          onChange={({ target }) => change({ kind: target.value as Entry['kind'] })}
        >
          {Object.entries(KINDS).map(([kind, words]) => (
            <option key={kind} value={kind}>
              {words}
            </option>
          ))}
        </SelectField>
        {entry.kind === 'constant' ? <Constant {...row} /> : <Origin {...row} list={lists.fromId} />}
        {entry.kind !== 'drop' && (
          <Field
            label="To"
            list={lists.toId}
            value={entry.to}
            placeholder={entry.kind === 'field' ? entry.from || 'the same name' : ''}
            error={at('to') ?? (entry.kind === 'constant' ? wrong : undefined)}
            autoComplete="off"
            onChange={({ target }) => change({ to: target.value })}
          />
        )}
        {entry.kind === 'field' && <Conversion {...row} />}
        <button
          type="button"
          className="btn plain"
          aria-label={`Remove entry ${index + 1}`}
          onClick={() => form.change({ fields: fields.filter(({ id }) => id !== entry.id) })}
        >
          <Icon name="close" />
          Remove
        </button>
      </div>
      {entry.kind === 'field' && entry.as !== '' && <Options {...row} />}
      {wrong !== undefined && entry.kind !== 'constant' && <b className="wrong small">{wrong}</b>}
    </fieldset>
  );
}

function Origin({ entry, at, change, list }: RowProps & { list: string }) {
  return (
    <Field
      label="Field"
      list={list}
      value={entry.from}
      error={at('from')}
      autoComplete="off"
      onChange={({ target }) => change({ from: target.value })}
    />
  );
}

function Constant({ entry, at, change }: RowProps) {
  return (
    <>
      <SelectField
        label="A value of type"
        value={entry.valueType}
        onChange={({ target }) => change({ valueType: target.value as Entry['valueType'] })}
      >
        {Object.entries(CONSTANTS).map(([type, words]) => (
          <option key={type} value={type}>
            {words}
          </option>
        ))}
      </SelectField>
      {entry.valueType !== 'null' && (
        <Field
          label="Value"
          value={entry.value}
          error={at('value')}
          type={entry.valueType === 'number' ? 'number' : 'text'}
          step="any"
          autoComplete="off"
          onChange={({ target }) => change({ value: target.value })}
        />
      )}
    </>
  );
}

function Conversion({ entry, at, change }: RowProps) {
  return (
    <SelectField
      label="As"
      value={entry.as}
      error={at('as')}
      onChange={({ target }) => change({ as: target.value as Entry['as'] })}
    >
      <option value="">as it is</option>
      {CONVERSIONS.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </SelectField>
  );
}

const SEPARATORS = { '': '; (default)', ',': ',', '|': '|', ' ': 'space', '\t': 'tab', '\n': 'line break' };

/** Shows how the texts of the source are read. */
function Options({ entry, at, change }: RowProps) {
  const { as, decimal, separator } = entry;
  const text = (member: 'format' | 'zone', label: string, hint: string) => (
    <Field
      label={label}
      hint={hint}
      value={entry[member]}
      error={at(member)}
      autoComplete="off"
      onChange={({ target }) => change({ [member]: target.value })}
    />
  );
  const words = (member: 'yes' | 'no', wire: string) => (
    <AreaField
      label={`Words that mean ${wire}`}
      hint="One a line; empty: the usual ones."
      value={entry[member]}
      error={at(`${wire}.*`)}
      onChange={({ target }) => change({ [member]: target.value })}
    />
  );
  if (as === 'date' || as === 'datetime')
    return (
      <div className="two">
        {text('format', 'Format', 'Such as dd.MM.yyyy, unix or unix_ms; empty: ISO 8601.')}
        {text('zone', 'Zone of times without one', 'Such as Europe/Paris; empty: UTC.')}
      </div>
    );
  if (as === 'boolean')
    return (
      <div className="two">
        {words('yes', 'true')}
        {words('no', 'false')}
      </div>
    );
  if (as === 'number')
    return (
      <SelectField
        label="Decimal separator"
        value={decimal}
        error={at('decimal')}
        onChange={({ target }) => change({ decimal: target.value as Entry['decimal'] })}
      >
        <option value="">as it is written</option>
        <option value=".">. as in 1,234.5</option>
        <option value=",">, as in 1.234,5</option>
      </SelectField>
    );
  if (as !== 'set') return null;
  const known = separator in SEPARATORS ? SEPARATORS : { ...SEPARATORS, [separator]: separator };
  return (
    <SelectField
      label="Its elements are separated by"
      value={separator}
      error={at('separator')}
      onChange={({ target }) => change({ separator: target.value })}
    >
      {Object.entries(known).map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </SelectField>
  );
}
