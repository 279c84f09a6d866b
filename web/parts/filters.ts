/** Filters in the address, so that a list can be shared and the way back leads to it. */
import { useNavigate, useSearch } from '@tanstack/react-router';

/** Returns whether a filter is a day such as 2026-11-24: an address may hold anything. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

type Filters = Readonly<Record<string, string | undefined>>;

/** Returns the filters of the address, and what changes some of them; undefined takes one away. The fragment stays. */
export function useFilters(): [filters: Filters, change: (changed: Filters) => void] {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (changed: Filters): void => {
    void navigate({
      to: '.',
      search: { ...filters, ...changed } as never,
      hash: true,
      replace: true,
      resetScroll: false,
    });
  };
  return [filters, change];
}
