/** Fields of a form: each with its label, a hint, and what is wrong with it. */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';

type About = { label: ReactNode; hint?: ReactNode; error?: string | undefined };
type Control = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean };

function Labeled({ label, hint, error, children }: About & { children: (control: Control) => ReactNode }) {
  const id = useId();
  const isSaid = hint !== undefined || error !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': isSaid ? `${id}-hint` : undefined, 'aria-invalid': error !== undefined })}
      {isSaid && (
        <span className="hint" id={`${id}-hint`}>
          {error === undefined ? hint : <b className="wrong">{error}</b>}
        </span>
      )}
    </div>
  );
}

export function Field({ label, hint, error, ...input }: About & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(control) => <input className="input" {...control} {...input} />}
    </Labeled>
  );
}

export function SelectField({ label, hint, error, ...select }: About & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(control) => <select className="input" {...control} {...select} />}
    </Labeled>
  );
}

export function AreaField({ label, hint, error, ...area }: About & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(control) => <textarea className="input area" {...control} {...area} />}
    </Labeled>
  );
}
