/** The form that puts a person on hold, and what its answer says. */
import type { FormEvent } from 'react';
import type { CreatedGdprHold } from '../../../api/client.ts';
import { HOLD_KINDS, type HoldKind } from '../../../domain/gdpr/gdpr-codes.ts';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import type { PersonId } from '../../parts/person-link.tsx';
import { textOf } from '../../parts/text-of.ts';
import { changeList, useAction } from '../../session/calls.ts';

export const HOLD_WORDS: Record<HoldKind, string> = {
  hold: 'legal hold',
  restriction: 'restricted processing (GDPR, article 18)',
};

/** Says that the hold is there, and whether it may have come too late. */
export function Placed({ hold: { identifier, deletion_under_way: isLate } }: { hold: CreatedGdprHold }) {
  return (
    <p className={`note ${isLate ? 'warn' : 'info'}`} role="status">
      <span>
        Placed as <code>{identifier}</code>.{' '}
        {isLate && 'A deletion of this person is running, and may be too far to stop: look at the requests.'}
      </span>
    </p>
  );
}

/** Asks for the person and the reason. */
export function Place({
  person: given,
  onPlaced,
  onClose,
}: {
  /** The person that the form begins with. */
  person?: PersonId;
  onPlaced: (hold: CreatedGdprHold) => void;
  onClose: () => void;
}) {
  const create = useAction('createGdprHold', {
    onDone(hold) {
      changeList('listGdprHolds', (pages) =>
        pages.map((page, index) => (index < pages.length - 1 ? page : { ...page, items: [...page.items, hold] })),
      );
      onPlaced(hold);
      onClose();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const id = textOf(form, 'id');
    const kind = HOLD_KINDS.find((each) => each === textOf(form, 'kind')) ?? 'hold';
    const person = textOf(form, 'of') === 'device' ? { device_id: id } : { user_id: id };
    create.mutate({ body: { ...person, kind, reason: textOf(form, 'reason') } });
  };
  return (
    <Dialog title="Put a person on hold" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <fieldset className="controls">
          <legend>The id is that of</legend>
          <label>
            <input type="radio" name="of" value="user" defaultChecked={given?.kind !== 'device_id'} /> a user
          </label>
          <label>
            <input type="radio" name="of" value="device" defaultChecked={given?.kind === 'device_id'} /> a device
          </label>
        </fieldset>
        <Field label="Id" name="id" autoComplete="off" defaultValue={given?.id} required />
        <fieldset className="tight">
          <legend>Kind</legend>
          {HOLD_KINDS.map((kind) => (
            <label key={kind}>
              <input type="radio" name="kind" value={kind} defaultChecked={kind === 'hold'} /> {HOLD_WORDS[kind]}
            </label>
          ))}
        </fieldset>
        <Field
          label="Reason"
          name="reason"
          maxLength={500}
          required
          hint="Shown with requests that wait for the hold. Name no other person in it."
        />
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          Put on hold
        </FormEnd>
      </form>
    </Dialog>
  );
}
