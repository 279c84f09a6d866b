/** Fields of a form: each with its label, a hint, and what is wrong with it. */
import { type ComponentProps, type ReactNode, useId } from 'react';

type About = {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  /** Stands at the end of the label's line. */
  end?: ReactNode;
};
type Control = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean };

function Labeled({ label, hint, error, end, children }: About & { children: (control: Control) => ReactNode }) {
  const id = useId();
  const isSaid = hint !== undefined || error !== undefined;
  return (
    <div className="field">
      <div className="label-line">
        <label htmlFor={id}>{label}</label>
        {end}
      </div>
      {children({ id, 'aria-describedby': isSaid ? `${id}-hint` : undefined, 'aria-invalid': error !== undefined })}
      {isSaid && (
        <span className="hint" id={`${id}-hint`}>
          {error === undefined ? hint : <b className="wrong">{error}</b>}
        </span>
      )}
    </div>
  );
}

export function Field({ label, hint, error, end, ...input }: About & ComponentProps<'input'>) {
  return (
    <Labeled label={label} hint={hint} error={error} end={end}>
      {(control) => <input className="input" {...control} {...input} />}
    </Labeled>
  );
}

export function SelectField({ label, hint, error, end, ...select }: About & ComponentProps<'select'>) {
  return (
    <Labeled label={label} hint={hint} error={error} end={end}>
      {(control) => <select className="input" {...control} {...select} />}
    </Labeled>
  );
}

export function AreaField({ label, hint, error, end, ...area }: About & ComponentProps<'textarea'>) {
  return (
    <Labeled label={label} hint={hint} error={error} end={end}>
      {(control) => <textarea className="input area" {...control} {...area} />}
    </Labeled>
  );
}
