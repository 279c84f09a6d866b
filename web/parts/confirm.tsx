/** A button of an action that can't be undone: it asks first, in a dialog. */
import { type ReactNode, useId, useRef, useState } from 'react';
import type { OperationName, Refusal } from '../session/api.ts';
import { ActionButton } from './button.tsx';
import { Refused } from './refusal.tsx';

type Sent = { isPending: boolean; error: Refusal | null; reset: () => void };

export function ConfirmButton({
  operation,
  children,
  title,
  says,
  yes,
  typed,
  sent,
  onYes,
}: {
  operation: OperationName;
  children: ReactNode;
  /** The question. */
  title: string;
  /** The consequence. */
  says: ReactNode;
  /** The word on the button that does it. */
  yes: string;
  /** A text that the person must type first, such as the name of the object. */
  typed?: string;
  sent: Sent;
  onYes: (options: { onSuccess: () => void }) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [titleId, fieldId] = [useId(), useId()];
  const close = (): void => dialog.current?.close();
  const open = (): void => {
    setText('');
    sent.reset();
    dialog.current?.showModal();
  };
  const isReady = typed === undefined || text.trim() === typed;
  return (
    <>
      <ActionButton operation={operation} onPress={open} kind="danger">
        {children}
      </ActionButton>
      <dialog ref={dialog} aria-labelledby={titleId}>
        <form
          className="body"
          onSubmit={(event) => {
            event.preventDefault();
            if (isReady) onYes({ onSuccess: close });
          }}
        >
          <h2 id={titleId}>{title}</h2>
          <div className="second">{says}</div>
          {typed !== undefined && (
            <div className="field">
              <label htmlFor={fieldId}>
                Type <b>{typed}</b>
              </label>
              <input
                className="input"
                id={fieldId}
                value={text}
                onChange={({ target }) => setText(target.value)}
                autoComplete="off"
              />
            </div>
          )}
          {sent.error && <Refused refusal={sent.error} />}
          <div className="controls">
            <button type="button" className="btn" onClick={close}>
              Leave it
            </button>
            <button type="submit" className="btn danger" disabled={!isReady || sent.isPending}>
              {yes}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
