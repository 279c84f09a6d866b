/** Dialogs: a form above the page, and the question before something that can't be undone. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { Refusal } from '../session/api.ts';
import { Refused } from './refusal.tsx';

/** Opens with its first appearance; Escape and the button close it. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div className="body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Ends a form of a dialog: shows what was refused, and the two ways out. */
export function FormEnd({
  refusal,
  isOff,
  onClose,
  children,
}: {
  refusal: Refusal | null;
  isOff: boolean;
  onClose: () => void;
  /** The words on the button that sends. */
  children: ReactNode;
}) {
  return (
    <>
      {refusal && <Refused refusal={refusal} />}
      <div className="filters">
        <button type="button" className="btn" onClick={onClose}>
          Leave it
        </button>
        <button type="submit" className="btn main" disabled={isOff}>
          {children}
        </button>
      </div>
    </>
  );
}

/** Asks before an action. With `word`, the person types it first: a name or a number that shows what is meant. */
export function Confirm({
  title,
  says,
  word,
  action,
  isBusy,
  refusal,
  onConfirm,
  onClose,
}: {
  title: string;
  says: ReactNode;
  word?: string;
  action: string;
  isBusy: boolean;
  refusal: Refusal | null;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const field = useId();
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="second">{says}</p>
      {word !== undefined && (
        <div className="field">
          <label htmlFor={field}>
            Type <b>{word}</b> to confirm
          </label>
          <input
            className="input"
            id={field}
            value={typed}
            autoComplete="off"
            onChange={({ target }) => setTyped(target.value)}
          />
        </div>
      )}
      {refusal && <Refused refusal={refusal} />}
      <div className="filters">
        <button type="button" className="btn" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          className="btn danger"
          disabled={isBusy || (word !== undefined && typed !== word)}
          onClick={onConfirm}
        >
          {action}
        </button>
      </div>
    </Dialog>
  );
}
