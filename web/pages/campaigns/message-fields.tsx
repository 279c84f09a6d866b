/** The message of a campaign by channel and variant: a variant shows only what differs from the shared message. */
import { type ReactNode, useRef } from 'react';
import { takesPlaceholders } from '../../../domain/campaigns/profile-values.ts';
import { ActionButton } from '../../parts/button.tsx';
import { AreaField, Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { type DraftParams, type DraftVariant, equalShares, type TextParam } from './draft.ts';
import type { Channel } from './fields.ts';
import { type Edit, paramField, useEdit } from './edit.tsx';
import { Parameters } from './parameters.tsx';
import { InsertValue } from './profile-value.tsx';

const TITLES: Record<Channel, string> = { push: 'Push', inapp: 'In the app', delivery: 'Delivery' };
const MAX_VARIANTS = 10;

export function MessagePanel() {
  const edit = useEdit();
  const { draft, channel, setChannel, variant } = edit;
  const channels = (['push', 'inapp', 'delivery'] as const).filter(
    (each) => each === 'delivery' || draft[each === 'push' ? 'includes_push' : 'includes_inapp'],
  );
  const shown = channels.includes(channel) ? channel : channels[0]!;
  return (
    <Panel title="Message" end={draft.type !== 'transactional' && <Variants edit={edit} />}>
      <div className="tabs" role="group" aria-label="Channel">
        {channels.map((each) => (
          <button key={each} type="button" aria-pressed={each === shown} onClick={() => setChannel(each)}>
            {TITLES[each]}
          </button>
        ))}
      </div>
      <div className="body" id="part-message" tabIndex={-1}>
        {variant !== null && <VariantHead index={variant} />}
        {shown === 'push' && <PushFields />}
        {shown === 'inapp' && <InappFields />}
        {shown === 'delivery' && <DeliveryFields />}
      </div>
    </Panel>
  );
}

function Variants({ edit }: { edit: Edit }) {
  const { draft, change, variant, setVariant } = edit;
  const { variants } = draft;
  const add = (): void => {
    const all = [...variants, ...(variants.length === 0 ? ['A', 'B'] : [nextName(variants)]).map(emptyVariant)];
    const shares = equalShares(all.length);
    change({ variants: all.map((each, index) => ({ ...each, share: shares[index]! })) });
    setVariant(all.length - 1);
  };
  return (
    <div className="filters" role="group" aria-label="Variant">
      {variants.length > 0 && (
        <button type="button" className="toggle" aria-pressed={variant === null} onClick={() => setVariant(null)}>
          Shared by all
        </button>
      )}
      {variants.map(({ name, share }, index) => (
        <button
          key={index}
          type="button"
          className="toggle"
          aria-pressed={variant === index}
          onClick={() => setVariant(index)}
        >
          {name || index + 1} · {share} %
        </button>
      ))}
      {variants.length < MAX_VARIANTS && (
        <ActionButton operation="updateCampaign" of={{ type: draft.type, variants: [1] }} kind="plain" onPress={add}>
          <Icon name="plus" />
          {variants.length === 0 ? 'Test two variants' : 'Variant'}
        </ActionButton>
      )}
    </div>
  );
}

const emptyVariant = (name: string): DraftVariant => ({ name, share: 0, params: {} });

/** Returns the first letter that no variant has. */
function nextName(variants: readonly DraftVariant[]): string {
  const names = new Set(variants.map(({ name }) => name));
  return 'ABCDEFGHIJKLMNOP'.split('').find((letter) => !names.has(letter))!;
}

function VariantHead({ index }: { index: number }) {
  const { draft, change, setVariant, errorAt } = useEdit();
  const { name, share } = draft.variants[index]!;
  const set = (part: Partial<DraftVariant>): void =>
    change({ variants: draft.variants.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  const remove = (): void => {
    const left = draft.variants.length === 2 ? [] : draft.variants.filter((_, at) => at !== index);
    const shares = equalShares(Math.max(1, left.length));
    change({ variants: left.map((each, at) => ({ ...each, share: shares[at]! })) });
    setVariant(null);
  };
  const sum = draft.variants.reduce((all, each) => all + each.share, 0);
  return (
    <>
      <div className="entry-row">
        <Field
          label="Name of the variant"
          name={`variants.${index}.name`}
          value={name}
          error={errorAt(`variants.${index}.name`)}
          onChange={({ target }) => set({ name: target.value })}
        />
        <Field
          label="Share, in percent"
          name={index === 0 ? 'variants' : `variants.${index}.share`}
          type="number"
          min={1}
          max={99}
          value={share}
          hint={sum === 100 ? 'All add up to 100.' : undefined}
          error={sum === 100 ? undefined : `All add up to ${sum}, not to 100.`}
          onChange={({ target }) => set({ share: Number(target.value) })}
        />
        <button type="button" className="btn" onClick={remove}>
          {draft.variants.length === 2 ? 'End the test' : 'Remove it'}
        </button>
      </div>
      <p className="small quiet">A field that is empty here has what all share, which stands in it in grey.</p>
    </>
  );
}

/** A text of the message: of the shared one, or of the variant that is shown. */
function TextParamField({
  param,
  label,
  hint,
  isLong = false,
}: {
  param: TextParam;
  label: string;
  hint?: ReactNode;
  isLong?: boolean;
}) {
  const edit = useEdit();
  const { value, shared, name, set } = paramField(edit, param);
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const props = {
    label,
    ref: field,
    end: takesPlaceholders(param) && <InsertValue label={label} field={field} onChange={set} />,
    name,
    value: value ?? '',
    error: edit.errorAt(name),
    onBlur: () => param === 'pushAttachment' && edit.setPicture(value || shared || ''),
    placeholder: edit.variant === null ? undefined : (shared ?? ''),
    hint:
      hint === undefined ? undefined : (
        <>
          <span>{hint}</span>
          <span className="n">{(value || shared || '').length}</span>
        </>
      ),
  };
  return isLong ? (
    <AreaField {...props} rows={3} onChange={({ target }) => set(target.value)} />
  ) : (
    <Field {...props} onChange={({ target }) => set(target.value)} />
  );
}

function PushFields() {
  return (
    <>
      <TextParamField param="push_title" label="Title" hint="Android and iOS show about 40 characters" />
      <TextParamField param="push_message" label="Text" isLong hint="The lock screen shows four lines" />
      <div className="two">
        <TextParamField param="deep_linking_url" label="Opens" />
        <TextParamField param="pushAttachment" label="Picture" />
      </div>
      <details>
        <summary>Subtitle, category, action, parameters</summary>
        <div className="tight">
          <div className="two">
            <TextParamField param="push_subtitle" label="Subtitle (iOS)" />
            <TextParamField param="pushCategory" label="Category of the buttons" />
            <TextParamField param="push_action" label="Action" />
          </div>
          <Parameters param="push_parameters" />
        </div>
      </details>
    </>
  );
}

function InappFields() {
  const edit = useEdit();
  const { value, shared, name, set } = paramField(edit, 'inapp');
  const kind = value ?? shared ?? 'native';
  return (
    <>
      <SelectField
        label="Kind"
        name={name}
        value={value ?? ''}
        onChange={({ target }) => set((target.value || undefined) as DraftParams['inapp'])}
      >
        {edit.variant !== null && <option value="">as all</option>}
        <option value="native">a message with a button</option>
        <option value="url">a page of your own</option>
      </SelectField>
      {kind === 'url' && (
        <>
          <TextParamField param="inapp_content_url" label="Address of the page" />
          <TextParamField param="inapp_content_title" label="Title of the page" />
          <Flag param="inapp_content_auto_display" label="the app shows the page at once" />
          <p className="small quiet">Title, text and button below stand before the page; you can leave them empty.</p>
        </>
      )}
      <TextParamField param="message_title" label="Title" />
      <TextParamField param="message_content" label="Text" isLong />
      <div className="two">
        <TextParamField param="message_btn" label="Button" />
        <TextParamField param="deep_linking_url" label="Opens" />
      </div>
      <details>
        <summary>Parameters</summary>
        <Parameters param="inapp_parameters" />
      </details>
    </>
  );
}

function Flag({ param, label }: { param: 'push_includes_sound' | 'inapp_content_auto_display'; label: string }) {
  const edit = useEdit();
  const { value, shared, name, set } = paramField(edit, param);
  return (
    <label>
      <input
        type="checkbox"
        name={name}
        checked={value ?? shared ?? false}
        onChange={({ target }) => set(target.checked)}
      />{' '}
      {label}
    </label>
  );
}

const HOUR = 3_600;
const EXPIRIES: readonly [seconds: number, words: string][] = [
  [600, '10 minutes'],
  [HOUR, '1 hour'],
  [6 * HOUR, '6 hours'],
  [24 * HOUR, '1 day'],
  [72 * HOUR, '3 days'],
  [168 * HOUR, '7 days'],
  [336 * HOUR, '14 days'],
  [672 * HOUR, '28 days'],
];

function DeliveryFields() {
  const edit = useEdit();
  const { draft, change } = edit;
  const { value, shared, name, set } = paramField(edit, 'expire_after');
  const expiry = value ?? shared!;
  const known = EXPIRIES.some(([seconds]) => seconds === expiry) ? [] : [[expiry, `${expiry} seconds`] as const];
  return (
    <>
      <div className="two">
        <SelectField
          label="Expires after"
          name={name}
          value={value ?? ''}
          hint="A push that could not leave or arrive by then is dropped."
          onChange={({ target }) => set(target.value === '' ? undefined : Number(target.value))}
        >
          {edit.variant !== null && <option value="">as all</option>}
          {[...known, ...EXPIRIES].map(([seconds, words]) => (
            <option key={seconds} value={seconds}>
              {words}
            </option>
          ))}
        </SelectField>
        <TextParamField param="push_sound_value" label="Sound file (iOS)" hint="By default the sound of the system" />
      </div>
      <Flag param="push_includes_sound" label="a push makes a sound" />
      {edit.variant === null && (
        <>
          <label>
            <input
              type="checkbox"
              checked={draft.skip_message_limit}
              onChange={({ target }) => change({ skip_message_limit: target.checked })}
            />{' '}
            it goes also to people who have got as many messages as the app’s limit allows
          </label>
          <label>
            <input
              type="checkbox"
              checked={draft.sensitive}
              onChange={({ target }) => change({ sensitive: target.checked })}
            />{' '}
            sensitive: its texts are kept no longer than it takes to deliver them
          </label>
        </>
      )}
    </>
  );
}
