/**
 * The builder of filters, for segments and campaigns: groups within each other, a line for each filter, and the same as
 * JSON. It shows beside a line what `errorAt` and `noteAt` say of its path, such as `blocks.0.filters.1`.
 */
import { type ReactNode, useState } from 'react';
import {
  type BlockOperator,
  eachFilter,
  type FilterBlock,
  isBlock,
  MAX_DEPTH,
  MAX_FILTERS,
  type SegmentFilter,
} from '../../../domain/analytics/segment-filters.ts';
import { Icon } from '../../parts/icon.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { FilterFields, KindField } from './filter-fields.tsx';
import { FiltersAsJson } from './filter-json.tsx';
import { type Builder, type ErrorAt, useNames } from './filter-names.ts';
import { type Filters, newBlock, newFilter } from './filters.ts';

export { EVERYBODY, type Filters } from './filters.ts';
export { FilterCount } from './filter-count.tsx';

export function FilterBuilder({
  value,
  onChange,
  appId,
  errorAt,
  noteAt = () => null,
}: {
  value: Filters;
  onChange: (filters: Filters) => void;
  appId: string;
  /** Returns what is wrong at a path, as the server said it. */
  errorAt: ErrorAt;
  /** Returns what stands beside a filter, such as the people left after it. */
  noteAt?: (path: string) => ReactNode;
}) {
  const names = useNames();
  const [isJson, setJson] = useState(false);
  const isFull = [...eachFilter(value)].length >= MAX_FILTERS;
  const builder: Builder = { appId, names, errorAt, noteAt, isFull };
  const whole = errorAt('') ?? errorAt('blocks');
  const setBlocks = (blocks: readonly (SegmentFilter | FilterBlock)[]): void =>
    onChange({ ...value, blocks: blocks.filter((block) => isBlock(block)) });
  return (
    <div className="builder stack">
      {value.blocks.length === 0 && <p className="second">Everybody in the app. Add a filter to choose among them.</p>}
      {value.blocks.length > 1 && (
        <AllOrAny value={value.operator} onChange={(operator) => onChange({ ...value, operator })} of="groups" />
      )}
      <Elements elements={value.blocks} at="blocks" depth={0} builder={builder} onChange={setBlocks} />
      {whole !== undefined && <p className="wrong small">{whole}</p>}
      <div className="controls">
        <button
          type="button"
          className="btn"
          disabled={isFull}
          title={isFull ? `Filters may be ${MAX_FILTERS} at most` : undefined}
          onClick={() => setBlocks([...value.blocks, newBlock()])}
        >
          <Icon name="plus" />
          {value.blocks.length === 0 ? 'Add a filter' : 'Add a group'}
        </button>
        <button type="button" className="btn plain" aria-expanded={isJson} onClick={() => setJson(!isJson)}>
          <Icon name="terminal" />
          {isJson ? 'Close the JSON' : 'As JSON'}
        </button>
        <label className="check small">
          <input
            type="checkbox"
            checked={value.aliases === true}
            onChange={({ target }) => onChange(withAliases(value, target.checked))}
          />{' '}
          Count an earlier id as the one that it became
        </label>
      </div>
      {isJson && <FiltersAsJson value={value} onChange={onChange} />}
    </div>
  );
}

function withAliases({ operator, blocks }: Filters, isOn: boolean): Filters {
  return { operator, blocks, ...(isOn && { aliases: true as const }) };
}

function AllOrAny({
  value,
  onChange,
  of,
}: {
  value: BlockOperator;
  onChange: (operator: BlockOperator) => void;
  of: 'groups' | 'filters';
}) {
  return (
    <Toggles
      label={`How many of these ${of} must hold`}
      value={value}
      onChange={onChange}
      choices={[
        { value: 'and', title: `all of these ${of}` },
        { value: 'or', title: `any of these ${of}` },
      ]}
    />
  );
}

type Element = SegmentFilter | FilterBlock;

function Elements({
  elements,
  at,
  depth,
  builder,
  onChange,
}: {
  elements: readonly Element[];
  at: string;
  depth: number;
  builder: Builder;
  onChange: (elements: Element[]) => void;
}) {
  const replace = (index: number, by: Element | null): void =>
    onChange(elements.flatMap((element, place) => (place === index ? (by ?? []) : element)));
  return elements.map((element, index) => {
    const path = `${at}.${index}`;
    const change = (by: Element | null): void => replace(index, by);
    return isBlock(element) ? (
      <Group key={path} block={element} path={path} depth={depth + 1} builder={builder} onChange={change} />
    ) : (
      <Line key={path} filter={element} path={path} builder={builder} onChange={change} />
    );
  });
}

function Group({
  block,
  path,
  depth,
  builder,
  onChange,
}: {
  block: FilterBlock;
  path: string;
  depth: number;
  builder: Builder;
  onChange: (block: FilterBlock | null) => void;
}) {
  const { operator, filters } = block;
  const setFilters = (next: Element[]): void => onChange(next.length === 0 ? null : { operator, filters: next });
  const add = (element: Element): void => setFilters([...filters, element]);
  const problem = builder.errorAt(path) ?? builder.errorAt(`${path}.filters`);
  return (
    <fieldset className="group">
      <legend>
        Group{' '}
        {path
          .replace('blocks.', '')
          .split('.filters.')
          .map((index) => Number(index) + 1)
          .join('.')}
      </legend>
      {filters.length > 1 && (
        <AllOrAny value={operator} of="filters" onChange={(next) => onChange({ operator: next, filters })} />
      )}
      <Elements elements={filters} at={`${path}.filters`} depth={depth} builder={builder} onChange={setFilters} />
      {problem !== undefined && <p className="wrong small">{problem}</p>}
      <div className="controls">
        <button type="button" className="btn plain" disabled={builder.isFull} onClick={() => add(newFilter('events'))}>
          <Icon name="plus" />
          Add a filter
        </button>
        <button
          type="button"
          className="btn plain"
          disabled={builder.isFull || depth >= MAX_DEPTH}
          title={depth >= MAX_DEPTH ? `At most ${MAX_DEPTH} groups within each other` : undefined}
          onClick={() => add(newBlock())}
        >
          <Icon name="plus" />
          Add a group within
        </button>
        <button type="button" className="btn plain" onClick={() => onChange(null)}>
          <Icon name="close" />
          Remove the group
        </button>
      </div>
    </fieldset>
  );
}

function Line({
  filter,
  path,
  builder,
  onChange,
}: {
  filter: SegmentFilter;
  path: string;
  builder: Builder;
  onChange: (filter: SegmentFilter | null) => void;
}) {
  const problem = builder.errorAt(path);
  return (
    <div className="line-of-filter" role="group" aria-label={`Filter ${path}`} data-path={path}>
      <div className="fields-row">
        <div className="fields">
          <KindField filter={filter} onChange={onChange} />
          <FilterFields filter={filter} path={path} builder={builder} onChange={onChange} />
        </div>
        <button type="button" className="btn plain" aria-label="Remove this filter" onClick={() => onChange(null)}>
          <Icon name="close" />
        </button>
      </div>
      {problem !== undefined && <p className="wrong small">{problem}</p>}
      {builder.noteAt(path)}
    </div>
  );
}
