/** Fields of a form, made from a JSON schema: a member each. A secret is never shown again once it is stored. */
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { parse, stringify } from '../../api/client.ts';
import type { Refusal } from '../session/api.ts';

type Member = {
  name: string;
  isRequired: boolean;
  isSecret: boolean;
  kind: 'text' | 'long' | 'number' | 'choice' | 'flag' | 'object';
  choices: readonly string[];
  description: string;
  byDefault: string;
  min?: number;
  max?: number;
};

/** From this length on a text gets an area. */
const LONG_TEXT = 4_096;

/** Returns the members of a schema of an object, required ones first. */
function membersOf(schema: Record<string, unknown>): Member[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const members = Object.entries(recordOf(schema['properties'])).map(([name, value]): Member => {
    const { description, writeOnly, default: byDefault, enum: choices, minimum, maximum, ...rest } = recordOf(value);
    return {
      name,
      isRequired: required.includes(name),
      isSecret: writeOnly === true,
      kind: kindOf({ ...rest, choices }),
      choices: Array.isArray(choices) ? choices.map(String) : [],
      description: typeof description === 'string' ? description : '',
      byDefault: typeof byDefault === 'string' || typeof byDefault === 'number' ? String(byDefault) : '',
      ...(typeof minimum === 'number' ? { min: minimum } : {}),
      ...(typeof maximum === 'number' ? { max: maximum } : {}),
    };
  });
  return [...members.filter(({ isRequired }) => isRequired), ...members.filter(({ isRequired }) => !isRequired)];
}

function kindOf({ choices, type, maxLength }: Record<string, unknown>): Member['kind'] {
  if (Array.isArray(choices)) return 'choice';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'flag';
  if (type === 'object' || type === 'array') return 'object';
  return typeof maxLength === 'number' && maxLength > LONG_TEXT ? 'long' : 'text';
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Returns the settings that a form holds. Empty fields are left out. */
export function settingsOf(form: HTMLFormElement, schema: Record<string, unknown>): Record<string, unknown> {
  const data = new FormData(form);
  return Object.fromEntries(
    membersOf(schema).flatMap(({ name, kind }) => {
      const text = data.get(fieldName(name));
      if (kind === 'flag') return [[name, text !== null]];
      if (typeof text !== 'string' || text === '') return [];
      if (kind === 'number') return [[name, Number(text)]];
      return [[name, kind === 'object' ? parse(text) : text]];
    }),
  );
}

const fieldName = (name: string): string => `settings.${name}`;

/** Shows a field for each member. `known` has the stored settings: a secret of them says only that it is set. */
export function SchemaFields({
  schema,
  known = {},
  refusal,
}: {
  schema: Record<string, unknown>;
  known?: Readonly<Record<string, unknown>>;
  /** The field that it names gets the focus. */
  refusal?: Refusal | null;
}) {
  const fields = useRef<HTMLDivElement>(null);
  const members = membersOf(schema);
  const element = refusal?.extra.messages?.[0]?.element;
  useEffect(() => {
    if (element === undefined) return;
    const named = fields.current?.querySelector<HTMLElement>(`[name="${CSS.escape(element)}"]`);
    named?.closest('details')?.setAttribute('open', '');
    named?.focus();
  }, [element, refusal]);
  const isMore = ({ isRequired, name }: Member): boolean => !isRequired && known[name] === undefined;
  const shown = (wanted: boolean): ReactNode =>
    members
      .filter((member) => isMore(member) === wanted)
      .map((member) => <Field key={member.name} member={member} known={known[member.name]} />);
  return (
    <div ref={fields} className="tight">
      <div className="two">{shown(false)}</div>
      {members.some(isMore) && (
        <details>
          <summary>
            More settings:{' '}
            {members
              .filter(isMore)
              .map(({ name }) => nameText(name))
              .join(', ')}
          </summary>
          <div className="two">{shown(true)}</div>
        </details>
      )}
    </div>
  );
}

const ACRONYMS = new Set(['ca', 'id', 'json', 'tls', 'url']);

/** Returns the name of a member as a label, such as `TLS CA`. */
export function nameText(name: string): string {
  const words = name.split('_').map((word) => (ACRONYMS.has(word) ? word.toUpperCase() : word));
  return words.join(' ').replace(/^./, (first) => first.toUpperCase());
}

function Field({ member, known }: { member: Member; known: unknown }) {
  const [id, hintId] = [useId(), useId()];
  const { name, isSecret, isRequired, kind, description, byDefault } = member;
  const isSet = isSecret && recordOf(known)['set'] === true;
  const hint = [
    description,
    isSet ? 'It is set and never shown: leave this empty to keep it' : '',
    kind === 'object' ? 'JSON' : '',
    byDefault === '' || kind === 'choice' ? '' : `By default ${byDefault}`,
  ].filter(Boolean);
  return (
    <div className="field">
      <label htmlFor={id}>
        {nameText(name)}
        {isRequired || kind === 'flag' ? '' : <span className="quiet"> (optional)</span>}
      </label>
      <Control
        member={member}
        id={id}
        hintId={hintId}
        isRequired={isRequired && !isSet}
        value={isSecret ? '' : textOfKnown(known)}
      />
      <span className="hint" id={hintId}>
        {hint.join('. ')}
      </span>
    </div>
  );
}

function textOfKnown(known: unknown): string {
  if (known === undefined || known === null) return '';
  return typeof known === 'object' ? stringify(known, 1) : String(known as string | number | boolean);
}

type ControlProps = { member: Member; id: string; hintId: string; isRequired: boolean; value: string };

function Control({ member, id, hintId, isRequired, value }: ControlProps) {
  const { name, kind, isSecret, choices, byDefault, min, max } = member;
  const shared = { id, name: fieldName(name), required: isRequired, 'aria-describedby': hintId };
  if (kind === 'choice') {
    return (
      <select className="input" {...shared} defaultValue={value || byDefault}>
        {!isRequired && byDefault === '' && <option value="">not set</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice === '\t' ? 'tab' : choice}
          </option>
        ))}
      </select>
    );
  }
  if (kind === 'flag') return <input type="checkbox" {...shared} required={false} defaultChecked={value === 'true'} />;
  if (kind === 'long' || kind === 'object') {
    return (
      <textarea
        className={`input area mono ${isSecret ? 'secret-text' : ''}`}
        {...shared}
        defaultValue={value}
        autoComplete="off"
        spellCheck={false}
        onInput={({ currentTarget }) => {
          if (kind === 'object') currentTarget.setCustomValidity(jsonProblem(currentTarget.value));
        }}
      />
    );
  }
  const type = isSecret ? 'password' : kind === 'number' ? 'number' : 'text';
  return (
    <input
      className="input"
      {...shared}
      type={type}
      defaultValue={value}
      placeholder={byDefault}
      autoComplete={isSecret ? 'new-password' : 'off'}
      spellCheck={false}
      {...(kind === 'number' ? { min, max, step: 1 } : {})}
    />
  );
}

/** Returns what is wrong with a text as JSON; empty if nothing is. */
function jsonProblem(text: string): string {
  if (text === '') return '';
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return `No JSON: ${error instanceof Error ? error.message : ''}`;
  }
}
