/** The fields of a filter by events: the event, its details, how often, and when. */
import { useId } from 'react';
import { parse, stringify } from '../../../api/client.ts';
import { COUNT_OPERATORS, type EventsFilter, type FilterPeriod } from '../../../domain/analytics/segment-filters.ts';
import { Field, SelectField } from '../../parts/field.tsx';
import { type Change, named, type Of, Options } from './filter-controls.tsx';
import { type Builder, useEventNames } from './filter-names.ts';

export function EventFields({ filter, path, builder, onChange }: Of<EventsFilter>) {
  const { appId, names, errorAt } = builder;
  const app = filter.app_id ?? appId;
  const events = useEventNames(app);
  const list = useId();
  return (
    <>
      <Field
        label="Event"
        list={list}
        value={filter.log_name}
        error={errorAt(`${path}.log_name`)}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => onChange({ ...filter, log_name: target.value })}
      />
      <datalist id={list}>
        {(events ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <SelectField
        label="How often"
        value={filter.operator}
        error={errorAt(`${path}.operator`)}
        onChange={({ target }) => onChange({ ...filter, operator: target.value as EventsFilter['operator'] })}
      >
        <Options values={COUNT_OPERATORS} value={filter.operator} />
      </SelectField>
      <Field
        label="Times"
        type="number"
        min={0}
        value={filter.count}
        error={errorAt(`${path}.count`)}
        onChange={({ target }) => onChange({ ...filter, count: Number(target.value) })}
      />
      <PeriodFields
        period={filter.period}
        path={path}
        errorAt={errorAt}
        onChange={(period) => onChange({ ...filter, period })}
      />
      {names.apps !== null && names.apps.length > 1 && (
        <SelectField
          label="In the app"
          value={filter.app_id ?? ''}
          error={errorAt(`${path}.app_id`)}
          onChange={({ target }) => onChange(withApp(filter, target.value))}
        >
          <option value="">this one</option>
          {names.apps.filter(({ identifier }) => identifier !== appId).map(named)}
        </SelectField>
      )}
      <DetailsField filter={filter} error={errorAt(`${path}.match_details`)} onChange={onChange} />
    </>
  );
}

function withApp({ app_id: _, ...filter }: EventsFilter, app: string): EventsFilter {
  return app === '' ? filter : { ...filter, app_id: app };
}

/** The details as JSON, which becomes part of the filter when the field is left. */
function DetailsField({
  filter,
  error,
  onChange,
}: {
  filter: EventsFilter;
  error: string | undefined;
  onChange: Change<EventsFilter>;
}) {
  const { match_details: details, ...rest } = filter;
  const text = details === undefined ? '' : stringify(details);
  return (
    <details open={details !== undefined || error !== undefined}>
      <summary className="small">With details</summary>
      <Field
        key={text}
        label="One of these objects"
        defaultValue={text}
        placeholder='[{"category": "shoes"}]'
        error={error}
        spellCheck={false}
        onBlur={({ target }) => {
          target.setCustomValidity('');
          if (target.value === '') onChange(rest);
          else
            try {
              onChange({ ...filter, match_details: parse(target.value) as NonNullable<typeof details> });
            } catch {
              target.setCustomValidity('This is no JSON: write [{"category": "shoes"}]');
              target.reportValidity();
            }
        }}
      />
    </details>
  );
}

export function PeriodFields({
  period,
  path,
  errorAt,
  onChange,
}: {
  period: FilterPeriod;
  path: string;
  errorAt: Builder['errorAt'];
  onChange: (period: FilterPeriod) => void;
}) {
  const error = errorAt(`${path}.period`) ?? errorAt(`${path}.period.last_days`);
  const isLast = 'last_days' in period;
  return (
    <>
      <SelectField
        label="When (UTC)"
        value={isLast ? 'last' : 'days'}
        error={isLast ? undefined : error}
        onChange={({ target }) => onChange(target.value === 'last' ? { last_days: 30 } : lastMonth())}
      >
        <option value="last">in the last days</option>
        <option value="days">from day to day</option>
      </SelectField>
      {isLast ? (
        <Field
          label="Days"
          type="number"
          min={1}
          value={period.last_days}
          error={error}
          onChange={({ target }) => onChange({ last_days: Number(target.value) })}
        />
      ) : (
        <>
          <Field
            label="From"
            type="date"
            value={period.from}
            error={errorAt(`${path}.period.from`)}
            onChange={({ target }) => onChange({ ...period, from: target.value })}
          />
          <Field
            label="Till"
            type="date"
            value={period.till}
            error={errorAt(`${path}.period.till`)}
            onChange={({ target }) => onChange({ ...period, till: target.value })}
          />
        </>
      )}
    </>
  );
}

function lastMonth(): FilterPeriod {
  const dayOf = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  return { from: dayOf(29), till: dayOf(0) };
}
