/** Controls of a funnel's count: days, the time for all steps, a property that divides people, fast or exact. */
import { type FormEvent, useState } from 'react';
import { MAX_DURATION_SECONDS } from '../../../domain/analytics/funnel.ts';
import { DurationField } from '../../parts/duration-field.tsx';
import { Field, SelectField } from '../../parts/field.tsx';
import { isDay, useFilters } from '../../parts/filters.ts';
import { textOf } from '../../parts/text-of.ts';
import { Toggles } from '../../parts/toggles.tsx';
import { useSession } from '../../session/session.tsx';
import type { Asked, CountKind } from './use-counts.ts';
import { BREAKDOWNS, OF_DETAIL } from './words.ts';

export function CountControls({
  asked,
  breakdown,
  kind,
  within,
}: {
  asked: Asked;
  breakdown: string | undefined;
  kind: CountKind;
  /** Seconds of a stored funnel: the ones asked for, and its own. */
  within?: WithinProps | undefined;
}) {
  const [, change] = useFilters();
  const setDay = (name: 'from' | 'till', day: string): void => {
    if (isDay(day)) change({ [name]: day });
  };
  return (
    <div className="controls">
      <Field
        label="From, UTC"
        type="date"
        value={asked.from}
        max={asked.till}
        onChange={({ target }) => setDay('from', target.value)}
      />
      <Field
        label="Till, UTC"
        type="date"
        value={asked.till}
        min={asked.from}
        onChange={({ target }) => setDay('till', target.value)}
      />
      {within && <Within key={within.asked} {...within} />}
      <DividedBy breakdown={breakdown} />
      <div className="field">
        <span className="label">Count</span>
        <Toggles<CountKind>
          label="Count"
          value={kind}
          choices={[
            { value: 'auto', title: 'Fast, then exact' },
            { value: 'fast', title: 'Fast, from a sample of people' },
            { value: 'exact', title: 'Exact' },
          ]}
          onChange={(count) => change({ count: count === 'auto' ? undefined : count })}
        />
      </div>
    </div>
  );
}

type WithinProps = { asked: number; stored: number };

/** Counts within another time than the stored one, once it is whole: each count looks at all events. */
function Within({ asked, stored }: WithinProps) {
  const [, change] = useFilters();
  const [typed, setTyped] = useState(asked);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    change({ within: typed === stored ? undefined : String(typed) });
  };
  return (
    <form className="controls" onSubmit={send}>
      <DurationField label="Within" seconds={asked} max={MAX_DURATION_SECONDS} onChange={setTyped} />
      {typed !== asked && (
        <button type="submit" className="btn">
          Count within it
        </button>
      )}
      {asked !== stored && (
        <button type="button" className="btn plain" onClick={() => change({ within: undefined })}>
          As stored
        </button>
      )}
    </form>
  );
}

function DividedBy({ breakdown }: { breakdown: string | undefined }) {
  const [, change] = useFilters();
  const { may } = useSession();
  const isDetail = breakdown?.startsWith(OF_DETAIL) ?? false;
  const [isNaming, setNaming] = useState(isDetail);
  const choose = (value: string): void => {
    setNaming(value === OF_DETAIL);
    if (value !== OF_DETAIL) change({ breakdown: value === '' ? undefined : value });
  };
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    change({ breakdown: `${OF_DETAIL}${textOf(event.currentTarget, 'property')}` });
  };
  return (
    <>
      <SelectField
        label="Divided by"
        value={isNaming ? OF_DETAIL : (breakdown ?? '')}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">not divided</option>
        {Object.entries(BREAKDOWNS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        {may('quickFunnelStats', { breakdown: OF_DETAIL }) && (
          <option value={OF_DETAIL}>A property of the event</option>
        )}
      </SelectField>
      {isNaming && (
        <form className="controls" onSubmit={send}>
          <Field
            label="Property"
            name="property"
            defaultValue={isDetail ? breakdown!.slice(OF_DETAIL.length) : ''}
            required
          />
          <button type="submit" className="btn">
            Divide
          </button>
        </form>
      )}
    </>
  );
}
