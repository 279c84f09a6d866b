/** When a campaign sends: its start and end, whose clock counts, the days of a dynamic one, and the plan of it. */
import { type ReactNode, useState } from 'react';
import { Field, SelectField } from '../../parts/field.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { instantOf, wallTime } from '../../parts/zone-time.ts';
import { useSettings, zones } from '../../session/settings.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import type { DraftRecurrence } from './draft.ts';
import { useEdit } from './edit.tsx';

const STARTS = [
  { value: 'now', title: 'At the launch' },
  { value: 'time', title: 'At a time' },
] as const;

export function SchedulePanel({
  appZone,
  end,
  children,
}: {
  appZone: string | null;
  end?: ReactNode;
  children?: ReactNode;
}) {
  const { draft, change } = useEdit();
  const { zone } = useSettings();
  const { type, start_date: start } = draft;
  // A time on each device's clock is meant as the clocks of the app's zone show it.
  const isLocal = draft.adapt_tz && type === 'classic';
  const inZone = isLocal ? (appZone ?? zone) : zone;
  const tomorrow = Math.floor(instantOf(`${wallTime(Date.now() + DAY_MS, inZone).slice(0, 10)}T09:00`, inZone) / 1_000);
  return (
    <Panel title="When" {...(end === undefined ? {} : { end })}>
      <div className="body">
        <Toggles
          label="Start"
          choices={STARTS}
          value={start === 'now' ? 'now' : 'time'}
          onChange={(chosen) => change({ start_date: chosen === 'now' ? 'now' : tomorrow })}
        />
        <div className="two">
          {start !== 'now' && (
            <MomentField
              key={inZone}
              label={isLocal ? 'Day and time' : `Day and time in ${inZone}`}
              name="start_date"
              zone={inZone}
              value={start}
              onChange={(at) => at !== null && change({ start_date: at })}
            />
          )}
          {type !== 'transactional' && <ClockField isDynamic={type === 'dynamic'} />}
        </div>
        {type === 'dynamic' && <RecurrenceFields appZone={appZone} />}
        {(type === 'dynamic' || draft.includes_inapp) && <EndField zone={zone} />}
        {children}
      </div>
    </Panel>
  );
}

function MomentField({
  label,
  name,
  zone,
  value,
  hint,
  onChange,
}: {
  label: string;
  name: string;
  zone: string;
  value: number | null;
  hint?: string;
  onChange: (seconds: number | null) => void;
}) {
  const { errorAt } = useEdit();
  // The browser holds a half-typed time, which is none yet, such as one of the year 20.
  const [text, setText] = useState(() => (value === null ? '' : wallTime(value * 1_000, zone)));
  return (
    <Field
      label={label}
      name={name}
      type="datetime-local"
      value={text}
      error={errorAt(name)}
      {...(hint === undefined ? {} : { hint })}
      onChange={({ target }) => {
        setText(target.value);
        const seconds = Math.floor(instantOf(target.value, zone) / 1_000);
        if (target.value === '') onChange(null);
        else if (seconds > 0) onChange(seconds);
      }}
    />
  );
}

function ClockField({ isDynamic }: { isDynamic: boolean }) {
  const { draft, change } = useEdit();
  return (
    <SelectField
      label="Whose clock"
      value={draft.adapt_tz ? 'own' : 'one'}
      hint={
        draft.adapt_tz
          ? 'A device without a known zone has the zone of the app.'
          : isDynamic
            ? 'Times count in one zone.'
            : 'All get it at one moment.'
      }
      onChange={({ target }) => change({ adapt_tz: target.value === 'own' })}
    >
      <option value="one">one clock for all</option>
      <option value="own">each device’s own</option>
    </SelectField>
  );
}

function EndField({ zone }: { zone: string }) {
  const { draft, change } = useEdit();
  return (
    <MomentField
      key={zone}
      label={`End in ${zone}${draft.type === 'dynamic' ? '' : ' (optional)'}`}
      name="end_date"
      zone={zone}
      value={draft.end_date}
      hint={
        draft.type === 'dynamic'
          ? 'It sends nothing from then on.'
          : 'By default 30 days after the start. Messages in the app end then.'
      }
      onChange={(end) => change({ end_date: end })}
    />
  );
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const FROM_MONDAY = [1, 2, 3, 4, 5, 6, 0];

function RecurrenceFields({ appZone }: { appZone: string | null }) {
  const { draft, change, errorAt } = useEdit();
  const { recurrence, notif_limit: limit } = draft;
  const set = (part: Partial<DraftRecurrence>): void => change({ recurrence: { ...recurrence, ...part } });
  const days = recurrence.day_of_week;
  return (
    <>
      <fieldset className="rights days">
        <legend>On these days</legend>
        {FROM_MONDAY.map((day) => (
          <label key={day}>
            <input
              type="checkbox"
              name={day === 1 ? 'recurrence.day_of_week' : undefined}
              checked={days.includes(day)}
              onChange={({ target }) =>
                set({
                  day_of_week: target.checked
                    ? FROM_MONDAY.filter((each) => each === day || days.includes(each))
                    : days.filter((each) => each !== day),
                })
              }
            />{' '}
            {WEEKDAYS[day]}
          </label>
        ))}
      </fieldset>
      <div className="entry-row">
        <TimeField
          label={recurrence.end_time === null ? 'At' : 'From'}
          name="recurrence.start_time"
          value={recurrence.start_time}
          hint={recurrence.start_time === null ? 'Empty: the whole day, as people come.' : undefined}
          onChange={(time) => set({ start_time: time })}
        />
        <TimeField
          label="Until (optional)"
          name="recurrence.end_time"
          value={recurrence.end_time}
          hint="With it: people as they come, between both."
          onChange={(time) => set({ end_time: time })}
        />
        {!draft.adapt_tz && (
          <SelectField
            label="In the zone"
            value={recurrence.timezone}
            onChange={({ target }) => set({ timezone: target.value })}
          >
            <option value="">that of the app{appZone === null ? '' : `, ${appZone}`}</option>
            {zones().map((each) => (
              <option key={each}>{each}</option>
            ))}
          </SelectField>
        )}
      </div>
      <div className="entry-row">
        <NumberField
          label="Messages for one person, at most"
          name="notif_limit.maximum"
          value={limit.maximum}
          error={errorAt('notif_limit.maximum')}
          onChange={(maximum) => change({ notif_limit: { ...limit, maximum } })}
        />
        <NumberField
          label="Hours between two of them"
          name="notif_limit.interval"
          value={limit.interval}
          error={errorAt('notif_limit.interval')}
          onChange={(interval) => change({ notif_limit: { ...limit, interval } })}
        />
      </div>
    </>
  );
}

function NumberField({
  label,
  name,
  value,
  error,
  onChange,
}: {
  label: string;
  name: string;
  value: number | null;
  error: string | undefined;
  onChange: (value: number | null) => void;
}) {
  return (
    <Field
      label={label}
      name={name}
      type="number"
      min={0}
      value={value ?? ''}
      error={error}
      onChange={({ target }) => onChange(target.value === '' ? null : Number(target.value))}
    />
  );
}

type ClockTime = DraftRecurrence['start_time'];

function TimeField({
  label,
  name,
  value,
  hint,
  onChange,
}: {
  label: string;
  name: string;
  value: ClockTime;
  hint?: string | undefined;
  onChange: (time: ClockTime) => void;
}) {
  const { errorAt } = useEdit();
  const text = value === null ? '' : [value.hour, value.min].map((part) => String(part).padStart(2, '0')).join(':');
  return (
    <Field
      label={label}
      name={name}
      type="time"
      value={text}
      error={errorAt(name)}
      {...(hint === undefined ? {} : { hint })}
      onChange={({ target }) => {
        const [hour, min] = target.value.split(':').map(Number);
        onChange(target.value === '' ? null : { hour: hour!, min: min! });
      }}
    />
  );
}
