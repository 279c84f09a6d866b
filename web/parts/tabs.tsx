/** Tabs: one of several parts is shown. Arrow keys move between them; the chosen one stands in the address. */
import { type KeyboardEvent, type ReactNode, useId } from 'react';
import { useFilters } from './filters.ts';

export type Tab = { value: string; title: string; count?: ReactNode; content: () => ReactNode };

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const id = useId();
  const [{ tab: asked }, change] = useFilters();
  const shown = tabs.find(({ value }) => value === asked) ?? tabs[0]!;
  const choose = ({ value }: Tab): void => change({ tab: value === tabs[0]!.value ? undefined : value });
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs.at((tabs.indexOf(shown) + step) % tabs.length)!;
    choose(next);
    document.getElementById(`${id}-${next.value}`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((each) => (
          <button
            key={each.value}
            type="button"
            role="tab"
            id={`${id}-${each.value}`}
            aria-selected={each === shown}
            aria-controls={`${id}-panel`}
            tabIndex={each === shown ? 0 : -1}
            onClick={() => choose(each)}
          >
            {each.title}
            {each.count}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${shown.value}`} key={shown.value}>
        {shown.content()}
      </div>
    </>
  );
}
