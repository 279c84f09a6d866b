/** Inserts a value of the person's profile into a text, at the cursor. */
import { type FormEvent, type RefObject, useState } from 'react';
import { isDefaultText, profilePlaceholder } from '../../../domain/campaigns/placeholders.ts';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Shown } from '../../parts/panel.tsx';
import { type ResultOf, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { NameField } from '../analytics/filter-controls.tsx';

type Text = HTMLInputElement | HTMLTextAreaElement;

/** `field`: the control whose text gets the placeholder. */
export function InsertValue({
  label,
  field,
  onChange,
}: {
  label: string;
  field: RefObject<Text | null>;
  onChange: (text: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const insert = (placeholder: string): void => {
    setOpen(false);
    const control = field.current!;
    const { value, selectionStart, selectionEnd } = control;
    const start = selectionStart ?? value.length;
    onChange(value.slice(0, start) + placeholder + value.slice(selectionEnd ?? start));
    // The control has the new text once the page is drawn.
    requestAnimationFrame(() => {
      control.focus();
      control.setSelectionRange(start + placeholder.length, start + placeholder.length);
    });
  };
  return (
    <>
      <button type="button" className="btn plain" aria-label={`Insert a value: ${label}`} onClick={() => setOpen(true)}>
        <Icon name="plus" />
        Insert a value
      </button>
      {isOpen && <ValueDialog onInsert={insert} onClose={() => setOpen(false)} />}
    </>
  );
}

function ValueDialog({ onInsert, onClose }: { onInsert: (placeholder: string) => void; onClose: () => void }) {
  const isListed = useSession().may('listSystemsOfRecords');
  const sors = useRead('listSystemsOfRecords', { query: { secrets: false } }, { isWanted: isListed });
  return (
    <Dialog title="Insert a value of the person" onClose={onClose}>
      {isListed ? (
        <Shown result={sors}>{(all) => <ValueForm sors={all} onInsert={onInsert} onClose={onClose} />}</Shown>
      ) : (
        <ValueForm sors={null} onInsert={onInsert} onClose={onClose} />
      )}
    </Dialog>
  );
}

type Sors = ResultOf<'listSystemsOfRecords'>;

/** `sors`: null without the right to the list. */
function ValueForm({
  sors,
  onInsert,
  onClose,
}: {
  sors: Sors | null;
  onInsert: (placeholder: string) => void;
  onClose: () => void;
}) {
  const [sor, setSor] = useState('');
  const [key, setKey] = useState('');
  const [otherwise, setOtherwise] = useState('');
  const attributes = sors?.find(({ identifier }) => identifier === sor)?.customer_attributes ?? [];
  const placeholder = profilePlaceholder({ sor, key }, otherwise === '' ? null : otherwise);
  const isRight = isDefaultText(otherwise);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    onInsert(placeholder);
  };
  return (
    <form className="tight" onSubmit={send}>
      <NameField
        label="System of Records"
        value={sor}
        names={sors && sors.filter(({ disabled }) => !disabled)}
        error={undefined}
        onChange={(identifier) => {
          setSor(identifier);
          setKey('');
        }}
      />
      <NameField
        label="Attribute"
        value={key}
        names={
          sors &&
          attributes
            .filter(({ disabled }) => !disabled)
            .map((each) => ({
              identifier: each.key,
              name: `${each.label || each.key}${each.sensitive ? ' (sensitive)' : ''}`,
            }))
        }
        error={undefined}
        onChange={setKey}
      />
      <Field
        label="Text for people without it"
        value={otherwise}
        autoComplete="off"
        hint="Empty: they do not get the message."
        error={isRight ? undefined : 'It cannot have *@ or @*.'}
        onChange={({ target }) => setOtherwise(target.value)}
      />
      {sor !== '' && key !== '' && <code className="wraps">{placeholder}</code>}
      <FormEnd refusal={null} isOff={sor === '' || key === '' || !isRight} onClose={onClose}>
        Insert it
      </FormEnd>
    </form>
  );
}
