/** The form that readmits erased people: Millrace accepts their data again. */
import { type FormEvent, useId } from 'react';
import { Dialog } from '../../parts/dialog.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { countText } from '../../parts/values.tsx';
import { useAction } from '../../session/calls.ts';
import { idsOf } from './ask.tsx';

export function Readmit({ onClose }: { onClose: () => void }) {
  const readmit = useAction('readmitPeople');
  const field = useId();
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const ids = idsOf(textOf(form, 'ids'));
    readmit.mutate({ body: textOf(form, 'of') === 'device' ? { devices: ids } : { users: ids } });
  };
  return (
    <Dialog title="Readmit erased people" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <p className="second">
          Millrace accepts data of these people again. Erased data does not come back, nor do the links between ids:
          readmit the devices, too.
        </p>
        <fieldset className="controls">
          <legend>The ids are those of</legend>
          <label>
            <input type="radio" name="of" value="user" defaultChecked /> users
          </label>
          <label>
            <input type="radio" name="of" value="device" /> devices
          </label>
        </fieldset>
        <div className="field">
          <label htmlFor={field}>Ids, one a line</label>
          <textarea className="input area mono" id={field} name="ids" rows={4} required />
        </div>
        {readmit.error && <Refused refusal={readmit.error} />}
        {readmit.data && (
          <p role="status" className="note info">
            {countText(readmit.data.readmitted)} readmitted, {countText(readmit.data.unknown)} had not been erased.
          </p>
        )}
        <div className="filters">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="btn main" disabled={readmit.isPending}>
            Readmit
          </button>
        </div>
      </form>
    </Dialog>
  );
}
