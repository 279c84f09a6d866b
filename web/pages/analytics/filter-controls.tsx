/** Controls that the fields of several kinds of filters share: names, and words to choose from. */
import type { SegmentFilter } from '../../../domain/analytics/segment-filters.ts';
import { Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import type { Builder, Named } from './filter-names.ts';

const words = (name: string): string => name.replaceAll('_', ' ');

export type Change<F> = (filter: F) => void;
export type Of<F extends SegmentFilter> = { filter: F; path: string; builder: Builder; onChange: Change<F> };

export function InField<F extends { operator: 'is_in' | 'is_not_in' }>({
  filter,
  onChange,
}: {
  filter: F;
  onChange: Change<F>;
}) {
  return (
    <SelectField
      label="People"
      value={filter.operator}
      onChange={({ target }) => onChange({ ...filter, operator: target.value as F['operator'] })}
    >
      <option value="is_in">are in</option>
      <option value="is_not_in">are not in</option>
    </SelectField>
  );
}

/** A name from a list; typed, without the right to the list. A stored name that is gone stays to be seen. */
export function NameField({
  label,
  value,
  names,
  error,
  onChange,
}: {
  label: string;
  value: string;
  names: readonly Named[] | null;
  error: string | undefined;
  onChange: (identifier: string) => void;
}) {
  if (names === null)
    return (
      <Field
        label={label}
        value={value}
        error={error}
        spellCheck={false}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  return (
    <SelectField label={label} value={value} error={error} onChange={({ target }) => onChange(target.value)}>
      <option value="">Choose</option>
      {value !== '' && !names.some(({ identifier }) => identifier === value) && <option value={value}>{value}</option>}
      {names.map(named)}
    </SelectField>
  );
}

/** Several names: chosen one after the other, each with a button that takes it away. */
export function NamesField({
  label,
  none,
  names,
  values,
  error,
  onChange,
}: {
  label: string;
  none?: string;
  names: readonly Named[] | null;
  values: readonly string[];
  error: string | undefined;
  onChange: (values: string[]) => void;
}) {
  const add = (identifier: string): void => onChange([...new Set([...values, identifier])]);
  const nameOf = (id: string): string => names?.find(({ identifier }) => identifier === id)?.name ?? id;
  return (
    <div className="names">
      {names === null ? (
        <Field
          label={label}
          error={error}
          hint="An identifier; Enter adds it"
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.currentTarget.value === '') return;
            event.preventDefault();
            add(event.currentTarget.value);
            event.currentTarget.value = '';
          }}
        />
      ) : (
        <SelectField label={label} value="" error={error} onChange={({ target }) => add(target.value)}>
          <option value="">{values.length === 0 ? (none ?? 'Choose') : 'Add another'}</option>
          {names.filter(({ identifier }) => !values.includes(identifier)).map(named)}
        </SelectField>
      )}
      <span className="chips">
        {values.map((value) => (
          <button
            key={value}
            type="button"
            className="toggle"
            aria-label={`Remove ${nameOf(value)}`}
            onClick={() => onChange(values.filter((each) => each !== value))}
          >
            {nameOf(value)} <Icon name="close" />
          </button>
        ))}
      </span>
    </div>
  );
}

export const named = ({ identifier, name }: Named) => (
  <option key={identifier} value={identifier}>
    {name}
  </option>
);

/** Options of words; a value that is none of them is shown, too. */
export function Options({ values, value }: { values: readonly string[]; value: string }) {
  return [...(value !== '' && !values.includes(value) ? [value] : []), ...values].map((each) => (
    <option key={each} value={each}>
      {words(each)}
    </option>
  ));
}
