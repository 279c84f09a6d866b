import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

/** A field of a form with its label, a hint, and what is wrong with it. */
export function Field({
  label,
  hint,
  error,
  ...input
}: { label: ReactNode; hint?: ReactNode; error?: string | undefined } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        className="input"
        id={id}
        aria-describedby={hint === undefined && error === undefined ? undefined : `${id}-hint`}
        aria-invalid={error !== undefined}
        {...input}
      />
      {(hint !== undefined || error !== undefined) && (
        <span className="hint" id={`${id}-hint`}>
          {error === undefined ? hint : <b>{error}</b>}
        </span>
      )}
    </div>
  );
}
