/** A duration as a number with its unit: `onChange` gets whole seconds, or NaN for what is no duration up to `max`. */
import { type ReactNode, useId, useState } from 'react';

const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;
type Unit = keyof typeof UNITS;
type Typed = { amount: string; unit: Unit };

export function DurationField({
  label,
  hint,
  seconds,
  max,
  onChange,
}: {
  label: string;
  hint?: ReactNode;
  /** The duration that is shown first. */
  seconds: number;
  max: number;
  onChange: (seconds: number) => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState(() => typedOf(seconds));
  const change = (changed: Typed): void => {
    setTyped(changed);
    const given = Number(changed.amount) * UNITS[changed.unit];
    onChange(Number.isSafeInteger(given) && given >= 1 && given <= max ? given : NaN);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <span className="duration">
        <input
          id={id}
          className="input"
          type="number"
          min={1}
          max={Math.floor(max / UNITS[typed.unit])}
          required
          value={typed.amount}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={({ target }) => change({ ...typed, amount: target.value })}
        />
        <select
          className="input"
          aria-label={`${label}: unit`}
          value={typed.unit}
          onChange={({ target }) => change({ ...typed, unit: target.value as Unit })}
        >
          {Object.keys(UNITS).map((unit) => (
            <option key={unit}>{unit}</option>
          ))}
        </select>
      </span>
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** Returns a duration in its largest whole unit. */
function typedOf(seconds: number): Typed {
  const unit = (['days', 'hours', 'minutes'] as const).find((each) => seconds % UNITS[each] === 0) ?? 'seconds';
  return { amount: String(seconds / UNITS[unit]), unit };
}
