import { useFilters } from './filters.ts';
import { Toggles } from './toggles.tsx';
import { countText } from './values.tsx';

/** Choices of one filter, each with the number of rows behind it. The chosen one stands in the address. */
export function FilterToggles({
  name,
  label,
  value,
  options,
}: {
  /** The name of the filter in the address. The first option is the one without it. */
  name: string;
  label: string;
  value: string;
  options: readonly { value: string; title?: string; count?: number }[];
}) {
  const [, change] = useFilters();
  const choose = (chosen: string): void => change({ [name]: chosen === options[0]?.value ? undefined : chosen });
  const choices = options.map(({ value: each, title = each, count }) => ({
    value: each,
    title: (
      <>
        {title}
        {count !== undefined && <b>{countText(count)}</b>}
      </>
    ),
  }));
  return <Toggles label={label} choices={choices} value={value} onChange={choose} />;
}
