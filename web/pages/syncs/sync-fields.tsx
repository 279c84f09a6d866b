/** The draft of a sync for the parts of its form, and fields that are bound to its members. */
import { createContext, type ReactNode, useContext, useId } from 'react';
import type { SourceStream } from '../../../api/client.ts';
import { Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Refusal } from '../../session/api.ts';
import { useRead } from '../../session/calls.ts';
import type { Draft } from './sync-draft.ts';

type SyncForm = {
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
  /** Returns what the server found at an element of the body. */
  errorAt: (element: string) => string | undefined;
  /** The draft that the server has looked at; null before. */
  checked: Draft | null;
  /** The source's fields as its last run found them; null before. */
  knownFields: StreamField[] | null;
};

export type StreamField = { name: string; type: string };

const SyncFormContext = createContext<SyncForm | null>(null);
export const SyncFormProvider = SyncFormContext.Provider;

export function useSyncForm(): SyncForm {
  return useContext(SyncFormContext)!;
}

/** Returns what was found at an element; with `.*` also at the elements of that list. */
export function errorsBy(refusal: Refusal | null): SyncForm['errorAt'] {
  const messages = refusal?.extra.messages ?? [];
  return (asked) => {
    const [list] = asked.split('.*');
    const isHere = (element: string): boolean =>
      element === list || (list !== asked && /^\.\d+$/.test(element.slice(list!.length)) && element.startsWith(list!));
    const found = messages.filter(({ element }) => isHere(element));
    return found.length === 0 ? undefined : found.map(({ message }) => message).join('; ');
  };
}

const ENTRY = /\bmapping\.fields\.(\d+)\b/g;

/** Messages that name members of the body, in words of the form. */
const IN_FORM: Record<string, string> = {
  'has neither from, nor to and value': 'is not complete: name where the value goes in “To”',
};

/** Returns a message in words of the form, which counts entries of the mapping from 1. */
function inForm(message: string): string {
  return IN_FORM[message] ?? message.replaceAll(ENTRY, (_, index: string) => `entry ${Number(index) + 1}`);
}

const ENTRY_MEMBERS: Record<string, string> = {
  from: 'Field',
  to: 'To',
  value: 'Value',
  as: 'As',
  format: 'Format',
  zone: 'Zone of times without one',
  decimal: 'Decimal separator',
  separator: 'Its elements are separated by',
  true: 'Words that mean true',
  false: 'Words that mean false',
};

const FORM_NAMES: Record<string, string> = {
  name: 'Name',
  source: 'Source',
  destination: 'Destination',
  'mapping.customer': 'The field that names the person',
  'mapping.fields': 'Fields',
  'mapping.other_fields': 'Other fields',
  'mapping.empty': 'An empty text',
  mode: 'What a run reads',
  cursor_field: 'Cursor field',
  removes: 'Removals',
  removal_limit: 'Removal limit',
  'schedule.every_minutes': 'Minutes between runs',
  'schedule.cron': 'Cron',
  'schedule.zone': 'Zone',
  'schedule.jitter_seconds': 'Delay of starts',
  schedule: 'When it runs',
  on_schema_change: 'If the fields of the source change',
  'alerts.emails': 'Mails go to',
  'alerts.connections': 'Alerts also go to',
  'alerts.failed_records': 'Alert from this many failed records',
  'alerts.pause_after': 'Pause after this many failed runs',
};

/** Returns what the form calls an element of the body: the longest name of its beginning. */
export function nameInForm(element: string): string {
  const [, index, member] = /^mapping\.fields\.(\d+)(?:\.(\w+))?/.exec(element) ?? [];
  if (index !== undefined) {
    const field = member === undefined ? '' : `, ${ENTRY_MEMBERS[member] ?? member}`;
    return `Entry ${Number(index) + 1}${field}`;
  }
  const parts = element.split('.');
  const known = parts.map((_, at) => parts.slice(0, parts.length - at).join('.')).find((name) => name in FORM_NAMES);
  return known === undefined ? element : FORM_NAMES[known]!;
}

/** Returns the refusal with the words of the form: its messages name entries of the mapping, too. */
export function inWordsOfForm(refusal: Refusal): Refusal {
  const { http, status, message, extra } = refusal;
  const messages = extra.messages?.map((each) => ({ ...each, message: inForm(each.message) }));
  return new Refusal(http, status, inForm(message), { ...extra, ...(messages ? { messages } : {}) });
}

/** Returns what the server found at a member of the draft, until the member is changed. */
function useErrorOf(name: keyof Draft, at: string): string | undefined {
  const { draft, checked, errorAt } = useSyncForm();
  return checked === null || checked[name] === draft[name] ? errorAt(at) : undefined;
}

type Texts = { [K in keyof Draft]: Draft[K] extends string ? K : never }[keyof Draft];

type Bound = { name: Texts; at: string; label: ReactNode; hint?: ReactNode };

export function TextField({
  name,
  at,
  suggestions = [],
  ...rest
}: Bound & { suggestions?: readonly string[]; type?: string; min?: number; max?: number; placeholder?: string }) {
  const { draft, change } = useSyncForm();
  const error = useErrorOf(name, at);
  const listId = useId();
  return (
    <>
      <Field
        {...rest}
        {...(suggestions.length > 0 ? { list: listId } : {})}
        value={draft[name]}
        error={error}
        autoComplete="off"
        onChange={({ target }) => change({ [name]: target.value })}
      />
      {suggestions.length > 0 && <Suggestions id={listId} values={suggestions} />}
    </>
  );
}

export function Suggestions({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}

export type Choice = { value: string; title: string };

export function ChoiceField({
  name,
  at,
  choices,
  onChosen,
  ...rest
}: Bound & { choices: readonly Choice[]; onChosen?: (value: string) => void }) {
  const { draft, change } = useSyncForm();
  const error = useErrorOf(name, at);
  return (
    <SelectField
      {...rest}
      value={draft[name]}
      error={error}
      onChange={({ target: { value } }) => (onChosen ? onChosen(value) : change({ [name]: value }))}
    >
      {withChosen(choices, draft[name]).map(({ value, title }) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </SelectField>
  );
}

/** Adds the chosen value if the choices lack it, as of a stream that the source no longer has. */
function withChosen(choices: readonly Choice[], value: string): readonly Choice[] {
  if (choices.some((choice) => choice.value === value)) return choices;
  return [{ value, title: value === '' ? 'Choose' : value }, ...choices];
}

/** Returns the streams of a connection, once the person has asked for them. */
export function useStreams(
  connection: string,
  side: 'source' | 'destination',
  isWanted = false,
): ReturnType<typeof useRead<'listStreams'>> {
  return useRead('listStreams', { params: { connection_id: connection }, query: { as: side } }, { isWanted });
}

/** Returns one stream of the connection; undefined before its streams were read. */
export function useStream(connection: string, side: 'source' | 'destination', name: string): SourceStream | undefined {
  const { data, isPlaceholderData } = useStreams(connection, side);
  return isPlaceholderData ? undefined : data?.streams?.find((stream) => stream.name === name);
}

/** Returns the fields of the source, from its streams or its last run. Empty if none are known. */
export function useSourceFields(): readonly StreamField[] {
  const { draft, knownFields } = useSyncForm();
  return useStream(draft.connection, 'source', draft.stream)?.fields ?? knownFields ?? [];
}

/** Shows a list of names, each with a button that takes it away, and a field that adds one. */
export function NameList({
  label,
  hint,
  error,
  values,
  suggestions,
  onChange,
}: {
  label: string;
  hint: string;
  error: string | undefined;
  values: readonly string[];
  suggestions: readonly string[];
  onChange: (values: string[]) => void;
}) {
  const left = suggestions.filter((name) => !values.includes(name));
  const listId = useId();
  const add = (input: HTMLInputElement): void => {
    const name = input.value.trim();
    if (name !== '' && !values.includes(name)) onChange([...values, name]);
    input.value = '';
  };
  return (
    <div className="tight">
      <Field
        label={label}
        hint={hint}
        error={error}
        list={listId}
        autoComplete="off"
        placeholder="Type a field, then press Enter"
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add(event.currentTarget);
        }}
        onBlur={({ currentTarget }) => add(currentTarget)}
      />
      <Suggestions id={listId} values={left} />
      {values.length > 0 && (
        <div className="filters">
          {values.map((name) => (
            <button
              key={name}
              type="button"
              className="toggle"
              aria-label={`Remove ${name}`}
              onClick={() => onChange(values.filter((each) => each !== name))}
            >
              <code>{name}</code>
              <Icon name="close" />
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
