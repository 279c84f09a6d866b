import { useRef } from 'react';
import { Icon } from '../../parts/icon.tsx';
import { Field } from '../../parts/field.tsx';
import type { Parameter } from './draft.ts';
import { paramField, useEdit } from './edit.tsx';
import { InsertValue } from './profile-value.tsx';

const MAX_PARAMETERS = 20;

/** Keys and values that the app gets with a message. A variant that has some has none of the shared ones. */
export function Parameters({ param }: { param: 'push_parameters' | 'inapp_parameters' }) {
  const edit = useEdit();
  const { value, shared, name, set } = paramField(edit, param);
  const rows = value ?? [];
  const put = (next: Parameter[]): void => set(next.length === 0 && edit.variant !== null ? undefined : next);
  const setAt = (index: number, part: Partial<Parameter>): void =>
    put(rows.map((each, at) => (at === index ? { ...each, ...part } : each)));
  return (
    <div className="entry">
      {rows.map(({ key, value: text }, index) => (
        <div className="entry-row" key={index}>
          <Field
            label="Key"
            name={`${name}.${index}.key`}
            value={key}
            error={edit.errorAt(`${name}.${index}.key`)}
            onChange={({ target }) => setAt(index, { key: target.value })}
          />
          <ValueField
            name={`${name}.${index}.value`}
            value={text}
            error={edit.errorAt(`${name}.${index}.value`)}
            onChange={(next) => setAt(index, { value: next })}
          />
          <button type="button" className="btn plain" onClick={() => put(rows.filter((_, at) => at !== index))}>
            Remove
          </button>
        </div>
      ))}
      {rows.length < MAX_PARAMETERS && (
        <button type="button" className="btn" onClick={() => put([...rows, { key: '', value: '' }])}>
          <Icon name="plus" />
          Parameter
        </button>
      )}
      {edit.variant !== null && rows.length === 0 && shared!.length > 0 && (
        <p className="small quiet">It has those that all share: {shared!.map(({ key }) => key).join(', ')}.</p>
      )}
    </div>
  );
}

function ValueField({
  name,
  value,
  error,
  onChange,
}: {
  name: string;
  value: string;
  error: string | undefined;
  onChange: (text: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <Field
      ref={field}
      label="Value"
      name={name}
      value={value}
      error={error}
      end={<InsertValue label={name} field={field} onChange={onChange} />}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
