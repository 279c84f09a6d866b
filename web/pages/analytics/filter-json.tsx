/** Filters as JSON, as calls take them: what is typed there becomes the filters, once it can be read. */
import { useEffect, useRef, useState } from 'react';
import { parse, stringify } from '../../../api/client.ts';
import { AreaField } from '../../parts/field.tsx';
import { type Filters, readFilters } from './filters.ts';

export function FiltersAsJson({ value, onChange }: { value: Filters; onChange: (filters: Filters) => void }) {
  const [text, setText] = useState(() => stringify(value, 2));
  const [problem, setProblem] = useState<string>();
  /** The filters that this text stands for: others come from the lines, and replace it. */
  const known = useRef(value);
  useEffect(() => {
    if (known.current === value) return;
    known.current = value;
    setText(stringify(value, 2));
    setProblem(undefined);
  }, [value]);
  const change = (typed: string): void => {
    setText(typed);
    try {
      const filters = filtersOf(parse(typed));
      known.current = filters;
      setProblem(undefined);
      onChange(filters);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'This is no JSON');
    }
  };
  return (
    <AreaField
      label="Filters as JSON"
      className="input area mono json"
      value={text}
      spellCheck={false}
      rows={14}
      onChange={({ target }) => change(target.value)}
      hint="The lines above follow as soon as it can be read."
      error={problem}
    />
  );
}

function filtersOf(given: unknown): Filters {
  const { operator = 'and', blocks, aliases } = (given ?? {}) as Partial<Filters>;
  if (!Array.isArray(blocks)) throw new Error('It needs blocks, an array of {"filters": […]}');
  const faulty = blocks.findIndex((block) => !isReadable(block, true));
  if (faulty !== -1)
    throw new Error(`blocks.${faulty} needs filters, an array of filters with filter_on, or of blocks`);
  return { ...readFilters({ operator, blocks }), ...(aliases === true && { aliases }) };
}

/** Returns whether the lines can show it: the server checks the rest. */
function isReadable(element: unknown, isTop = false): boolean {
  if (typeof element !== 'object' || element === null) return false;
  if ('filters' in element) return Array.isArray(element.filters) && element.filters.every((each) => isReadable(each));
  if (isTop) return false;
  const filter =
    'options' in element && Array.isArray(element.options) && 'value' in element
      ? { filter_on: element.value, ...(element.options[0] as object) }
      : element;
  return KNOWN.some((needs) => Object.entries(needs).every(([name, type]) => isOfType(filter, name, type)));
}

const isOfType = (filter: unknown, name: string, type: string): boolean => {
  const value = (filter as Record<string, unknown>)[name];
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null;
  return type === 'text' ? typeof value === 'string' : value === type;
};

const COMPARISON = { operator: 'text' };

/** The members that the lines read, by kind: a text, an array, an object, or the kind itself. */
const KNOWN: readonly Record<string, string>[] = [
  { filter_on: 'attributes', sor_identifier: 'text', attribute_key: 'text', ...COMPARISON },
  { filter_on: 'devices', field: 'text', ...COMPARISON },
  { filter_on: 'events', log_name: 'text', period: 'object' },
  { filter_on: 'segments', segment_identifiers: 'array' },
  { filter_on: 'funnels', funnel_identifier: 'text', period: 'object' },
  { filter_on: 'campaigns' },
];
