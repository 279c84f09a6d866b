/** The fields of a filter, by its kind: what it is about, how it compares, and with what. */
import { useState } from 'react';
import {
  type ComparedType,
  DEVICE_FIELDS,
  deviceFieldType,
  operatorsOf,
  valuesTaken,
} from '../../../domain/analytics/comparison.ts';
import {
  type AttributesFilter,
  type CampaignsFilter,
  type DevicesFilter,
  type FunnelsFilter,
  MESSAGE_OUTCOMES,
  type SegmentFilter,
  type SegmentsFilter,
  SELECTIONS,
} from '../../../domain/analytics/segment-filters.ts';
import { AreaField, Field, SelectField } from '../../parts/field.tsx';
import { EventFields, PeriodFields } from './event-fields.tsx';
import { type Change, InField, NameField, NamesField, type Of, Options } from './filter-controls.tsx';
import type { Builder } from './filter-names.ts';
import { type Kind, newFilter } from './filters.ts';

const KINDS: Record<Kind, string> = {
  events: 'Event',
  attributes: 'Attribute',
  devices: 'Device',
  segments: 'Segment',
  funnels: 'Funnel',
  campaigns: 'Campaign',
};

export function KindField({ filter, onChange }: { filter: SegmentFilter; onChange: Change<SegmentFilter> }) {
  return (
    <SelectField
      label="Filter on"
      value={filter.filter_on}
      onChange={({ target }) => onChange(newFilter(target.value as Kind))}
    >
      {Object.entries(KINDS).map(([kind, title]) => (
        <option key={kind} value={kind}>
          {title}
        </option>
      ))}
    </SelectField>
  );
}

export function FilterFields({ filter, ...rest }: Of<SegmentFilter>) {
  switch (filter.filter_on) {
    case 'attributes':
      return <AttributeFields filter={filter} {...rest} />;
    case 'devices':
      return <DeviceFields filter={filter} {...rest} />;
    case 'events':
      return <EventFields filter={filter} {...rest} />;
    case 'segments':
      return <SegmentFields filter={filter} {...rest} />;
    case 'funnels':
      return <FunnelFields filter={filter} {...rest} />;
    case 'campaigns':
      return <CampaignFields filter={filter} {...rest} />;
  }
}

function AttributeFields({ filter, path, builder, onChange }: Of<AttributesFilter>) {
  const { sor_identifier: sorId, attribute_key: key } = filter;
  const { names, errorAt } = builder;
  const sor = names.sors?.find(({ identifier }) => identifier === sorId);
  const type = sor?.attributes.find((attribute) => attribute.key === key)?.value_type;
  return (
    <>
      <NameField
        label="System of Records"
        value={sorId}
        names={names.sors}
        error={errorAt(`${path}.sor_identifier`)}
        onChange={(identifier) => onChange({ ...filter, sor_identifier: identifier, attribute_key: '' })}
      />
      <NameField
        label="Attribute"
        value={key}
        names={
          names.sors &&
          (sor?.attributes ?? []).map(({ key: name, label }) => ({ identifier: name, name: label || name }))
        }
        error={errorAt(`${path}.attribute_key`)}
        onChange={(name) => onChange({ ...filter, attribute_key: name })}
      />
      <ComparisonFields filter={filter} type={type} path={path} errorAt={errorAt} onChange={onChange} />
    </>
  );
}

function DeviceFields({ filter, path, builder: { errorAt }, onChange }: Of<DevicesFilter>) {
  const type = deviceFieldType(filter.field);
  return (
    <>
      <SelectField
        label="Field"
        value={filter.field}
        error={errorAt(`${path}.field`)}
        onChange={({ target }) => onChange(fitting({ ...filter, field: target.value }, deviceFieldType(target.value)))}
      >
        <Options values={DEVICE_FIELDS} value={filter.field} />
      </SelectField>
      <ComparisonFields filter={filter} type={type} path={path} errorAt={errorAt} onChange={onChange} />
    </>
  );
}

type Compared = { operator: string; values: string[] };

/** Keeps the operator if the type has it, and begins the values anew if not. */
function fitting<F extends Compared>(filter: F, type: ComparedType | undefined): F {
  if (type === undefined || operatorsOf(type).includes(filter.operator)) return filter;
  return { ...filter, operator: operatorsOf(type)[2]!, values: [] };
}

const ALL_OPERATORS = [
  ...new Set(
    (['String', 'Number', 'Boolean', 'Date', 'Datetime', 'Set'] as const).flatMap((type) => operatorsOf(type)),
  ),
];

function ComparisonFields<F extends AttributesFilter | DevicesFilter>({
  filter,
  type,
  path,
  errorAt,
  onChange,
}: {
  filter: F;
  type: ComparedType | undefined;
  path: string;
  errorAt: Builder['errorAt'];
  onChange: Change<F>;
}) {
  const { operator, values } = filter;
  const operators = type === undefined ? ALL_OPERATORS : operatorsOf(type);
  const { max } = valuesTaken(operator);
  const wrong = errorAt(`${path}.values`) ?? values.map((_, index) => errorAt(`${path}.values.${index}`)).find(Boolean);
  const setValues = (next: string[]): void => onChange({ ...filter, values: next });
  return (
    <>
      <SelectField
        label="Comparison"
        value={operator}
        error={errorAt(`${path}.operator`)}
        onChange={({ target }) => {
          const taken = valuesTaken(target.value);
          onChange({ ...filter, operator: target.value, values: values.slice(0, taken.max) });
        }}
      >
        <Options values={operators} value={operator} />
      </SelectField>
      {max === 1 && (
        <ValueField
          label="Value"
          type={inputType(type, operator)}
          values={values}
          at={0}
          error={wrong}
          onChange={setValues}
        />
      )}
      {max === 2 && (
        <>
          <ValueField
            label="From"
            type={inputType(type, operator)}
            values={values}
            at={0}
            error={wrong}
            onChange={setValues}
          />
          <ValueField
            label="To"
            type={inputType(type, operator)}
            values={values}
            at={1}
            error={undefined}
            onChange={setValues}
          />
        </>
      )}
      {max > 2 &&
        (type === 'Boolean' ? (
          <SelectField
            label="Value"
            value={values[0] ?? ''}
            error={wrong}
            onChange={({ target }) => setValues(target.value === '' ? [] : [target.value])}
          >
            <option value="">Choose</option>
            <Options values={['true', 'false']} value={values[0] ?? ''} />
          </SelectField>
        ) : (
          <ValuesField values={values} error={wrong} onChange={setValues} />
        ))}
    </>
  );
}

/** Values, one a line. What is typed stays as it is; empty lines are no values. */
function ValuesField({
  values,
  error,
  onChange,
}: {
  values: readonly string[];
  error: string | undefined;
  onChange: (values: string[]) => void;
}) {
  const [text, setText] = useState(values.join('\n'));
  const isOther = valuesIn(text).join('\n') !== values.join('\n');
  const shown = isOther ? values.join('\n') : text;
  return (
    <AreaField
      label="Values"
      rows={Math.min(6, Math.max(1, shown.split('\n').length))}
      value={shown}
      error={error}
      hint="One a line; any of them"
      spellCheck={false}
      onChange={({ target }) => {
        setText(target.value);
        onChange(valuesIn(target.value));
      }}
    />
  );
}

const valuesIn = (text: string): string[] => text.split(/\r?\n/).filter((value) => value !== '');

function inputType(type: ComparedType | undefined, operator: string): 'number' | 'date' | 'text' {
  if (operator.endsWith('last_days')) return 'number';
  return type === 'Date' ? 'date' : 'text';
}

function ValueField({
  label,
  type,
  values,
  at,
  error,
  onChange,
}: {
  label: string;
  type: 'number' | 'date' | 'text';
  values: string[];
  at: 0 | 1;
  error: string | undefined;
  onChange: (values: string[]) => void;
}) {
  return (
    <Field
      label={label}
      type={type}
      value={values[at] ?? ''}
      error={error}
      spellCheck={false}
      autoComplete="off"
      onChange={({ target }) =>
        onChange(at === 0 ? [target.value, ...values.slice(1)] : [values[0] ?? '', target.value])
      }
    />
  );
}

function SegmentFields({ filter, path, builder: { names, errorAt }, onChange }: Of<SegmentsFilter>) {
  const identifiers = filter.segment_identifiers;
  const error =
    errorAt(`${path}.segment_identifiers`) ??
    identifiers.map((_, index) => errorAt(`${path}.segment_identifiers.${index}`)).find(Boolean);
  return (
    <>
      <InField filter={filter} onChange={onChange} />
      <SelectField
        label="Which"
        value={filter.selection}
        onChange={({ target }) => onChange({ ...filter, selection: target.value as SegmentsFilter['selection'] })}
      >
        <Options values={SELECTIONS} value={filter.selection} />
      </SelectField>
      <NamesField
        label="Segments"
        names={names.segments}
        values={identifiers}
        error={error}
        onChange={(next) => onChange({ ...filter, segment_identifiers: next })}
      />
    </>
  );
}

function FunnelFields({ filter, path, builder: { names, errorAt }, onChange }: Of<FunnelsFilter>) {
  const steps = names.funnels?.find(({ identifier }) => identifier === filter.funnel_identifier)?.steps;
  return (
    <>
      <InField filter={filter} onChange={onChange} />
      <NameField
        label="Funnel"
        value={filter.funnel_identifier}
        names={names.funnels}
        error={errorAt(`${path}.funnel_identifier`)}
        onChange={(identifier) => onChange({ ...filter, funnel_identifier: identifier, step: 0, outcome: 'completed' })}
      />
      <SelectField
        label="Who"
        value={filter.outcome}
        error={errorAt(`${path}.outcome`)}
        onChange={({ target }) => {
          const outcome = target.value as FunnelsFilter['outcome'];
          onChange({ ...filter, outcome, step: outcome === 'dropped' ? Math.max(1, filter.step) : filter.step });
        }}
      >
        <option value="completed">completed the step</option>
        <option value="dropped">stopped before the step</option>
      </SelectField>
      <StepField
        steps={steps}
        first={filter.outcome === 'dropped' ? 1 : 0}
        value={filter.step}
        error={errorAt(`${path}.step`)}
        onChange={(step) => onChange({ ...filter, step })}
      />
      <PeriodFields
        period={filter.period}
        path={path}
        errorAt={errorAt}
        onChange={(period) => onChange({ ...filter, period })}
      />
    </>
  );
}

/** A step of a funnel, which pages number from 1 and calls from 0: chosen by its event where that is known. */
function StepField({
  steps,
  first,
  value,
  error,
  onChange,
}: {
  steps: readonly string[] | undefined;
  first: number;
  value: number;
  error: string | undefined;
  onChange: (step: number) => void;
}) {
  if (steps === undefined)
    return (
      <Field
        label="Step"
        type="number"
        min={first + 1}
        value={value + 1}
        error={error}
        onChange={({ target }) => onChange(Number(target.value) - 1)}
      />
    );
  return (
    <SelectField label="Step" value={value} error={error} onChange={({ target }) => onChange(Number(target.value))}>
      {steps.map((name, nth) =>
        nth < first ? null : (
          <option key={nth} value={nth}>
            {nth + 1}. {name}
          </option>
        ),
      )}
    </SelectField>
  );
}

function CampaignFields({ filter, path, builder: { names, errorAt }, onChange }: Of<CampaignsFilter>) {
  const { campaign_identifiers: campaigns = [], last_days: days } = filter;
  const error =
    errorAt(`${path}.campaign_identifiers`) ??
    campaigns.map((_, index) => errorAt(`${path}.campaign_identifiers.${index}`)).find(Boolean);
  return (
    <>
      <InField filter={filter} onChange={onChange} />
      <SelectField
        label="Who"
        value={filter.outcome}
        onChange={({ target }) => onChange({ ...filter, outcome: target.value as CampaignsFilter['outcome'] })}
      >
        <Options values={MESSAGE_OUTCOMES} value={filter.outcome} />
      </SelectField>
      <NamesField
        label="A message of"
        none="any campaign of the app"
        names={names.campaigns}
        values={campaigns}
        error={error}
        onChange={(next) =>
          onChange(withoutEmpty({ ...filter, campaign_identifiers: next.length === 0 ? undefined : next }))
        }
      />
      <Field
        label="In the last days"
        type="number"
        min={1}
        max={30}
        placeholder="any time"
        value={days ?? ''}
        error={errorAt(`${path}.last_days`)}
        onChange={({ target }) =>
          onChange(withoutEmpty({ ...filter, last_days: target.value === '' ? undefined : Number(target.value) }))
        }
      />
    </>
  );
}

function withoutEmpty(filter: CampaignsFilter): CampaignsFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as CampaignsFilter;
}
