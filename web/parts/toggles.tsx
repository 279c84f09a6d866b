import type { ReactNode } from 'react';

/** Shows choices, one of them chosen. */
export function Toggles<T extends string>({
  label,
  choices,
  value,
  onChange,
}: {
  label: string;
  choices: readonly { value: T; title: ReactNode }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <div className="filters" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          className="toggle"
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.title}
        </button>
      ))}
    </div>
  );
}
