/** The fields of a funnel's step: its events, by the names that apps have sent, and a property that they must have. */
import { useId } from 'react';
import { nearestName } from '../../../domain/text/say-unknown.ts';
import { Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { ANY_TYPE, type AppName, type DraftName, emptyName, type StepDraft } from './draft.ts';

const MAX_NAMES = 50;

export function StepFields({
  step,
  number,
  apps,
  onChange,
}: {
  step: StepDraft;
  number: number;
  apps: readonly AppName[];
  onChange: (step: StepDraft) => void;
}) {
  const { match_name: names } = step;
  const changeName = (at: number, name: DraftName): void => onChange({ ...step, match_name: names.with(at, name) });
  return (
    <div className="tight">
      {names.map((name, nth) => (
        <div key={nth} className="controls">
          {nth > 0 && <span className="second or">or</span>}
          <EventFields name={name} number={number} apps={apps} onChange={(changed) => changeName(nth, changed)} />
          {nth > 0 && (
            <button
              type="button"
              className="btn plain"
              onClick={() => onChange({ ...step, match_name: names.toSpliced(nth, 1) })}
            >
              <Icon name="close" label={`Remove event ${nth + 1} of step ${number}`} />
            </button>
          )}
        </div>
      ))}
      <Details step={step} number={number} onChange={onChange} />
      {names.length < MAX_NAMES && (
        <div>
          <button
            type="button"
            className="link small"
            onClick={() => onChange({ ...step, match_name: [...names, emptyName(names.at(-1)!.app_id)] })}
          >
            Or another event<span className="sr"> as step {number}</span>
          </button>
        </div>
      )}
    </div>
  );
}

function EventFields({
  name,
  number,
  apps,
  onChange,
}: {
  name: DraftName;
  number: number;
  apps: readonly AppName[];
  onChange: (name: DraftName) => void;
}) {
  const { app_id: app, log_name: text } = name;
  const listId = useId();
  const { may } = useSession();
  const read = useRead(
    'listEventDefinitions',
    { params: { app_identifier: app }, query: { per_page: '10000' } },
    { isWanted: may('listEventDefinitions') },
  );
  const known = read.isPlaceholderData ? undefined : read.data?.items;
  const all = [...new Set((known ?? []).map((each) => each.name))];
  const isUnknown = known !== undefined && text !== '' && !all.includes(text);
  const nearest = isUnknown ? nearestName(text, all) : null;
  const error = isUnknown ? 'The app has sent no such event.' : undefined;
  return (
    <>
      {apps.length > 1 && (
        <SelectField label="App" value={app} onChange={({ target }) => onChange({ ...emptyName(target.value) })}>
          {apps.map(({ identifier, name: title }) => (
            <option key={identifier} value={identifier}>
              {title}
            </option>
          ))}
        </SelectField>
      )}
      <Field
        label={`Event of step ${number}`}
        value={text}
        list={listId}
        autoComplete="off"
        spellCheck={false}
        required
        error={error}
        onChange={({ target }) => onChange({ app_id: app, log_type: ANY_TYPE, log_name: target.value })}
      />
      <datalist id={listId}>
        {all.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {nearest !== null && (
        <button type="button" className="btn" onClick={() => onChange({ ...name, log_name: nearest })}>
          Take “{nearest}”
        </button>
      )}
    </>
  );
}

/** One property with its value; several objects come with a copied funnel, and stay as they are. */
function Details({ step, number, onChange }: { step: StepDraft; number: number; onChange: (step: StepDraft) => void }) {
  const { match_details: objects, values_erased: erased } = step;
  const set = (details: StepDraft['match_details']): void => onChange({ ...step, match_details: details });
  const [pair, ...others] = objects.flatMap((pairs) => Object.entries(pairs));
  if (objects.length === 0 && erased === undefined)
    return (
      <div>
        <button type="button" className="link small" onClick={() => set([{ '': '' }])}>
          Only with a property<span className="sr"> in step {number}</span>
        </button>
      </div>
    );
  const remove = (
    <button type="button" className="btn plain" onClick={() => onChange(withAnyDetail(step))}>
      <Icon name="close" />
      Any property<span className="sr"> in step {number}</span>
    </button>
  );
  const isOne = objects.length === 1 && others.length === 0 && pair !== undefined && typeof pair[1] === 'string';
  // The empty name is the whole detail of an event, if that is a text.
  if (!isOne || (pair[0] === '' && pair[1] !== ''))
    return (
      <div className="controls">
        <span className="small">
          Only with <code>{objects.map((pairs) => JSON.stringify(pairs)).join(' or ')}</code>
          {erased !== undefined && ' (values of it were erased)'}
        </span>
        {remove}
      </div>
    );
  const [property, value] = pair;
  return (
    <div className="controls">
      <Field label="Property" value={property} onChange={({ target }) => set([{ [target.value]: value }])} required />
      <Field label="is" value={String(value)} onChange={({ target }) => set([{ [property]: target.value }])} />
      {remove}
    </div>
  );
}

function withAnyDetail({ values_erased: _, ...step }: StepDraft): StepDraft {
  return { ...step, match_details: [] };
}
