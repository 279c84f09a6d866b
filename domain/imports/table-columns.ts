import { MAX_COLUMNS } from '../csv/sheet-values.ts';
import { MAX_CODE_POINTS, quote, shorten } from '../text/text-limits.ts';

/** Tables with columns for customer and attributes, in any order: finds the columns, and cuts rows into cells. */

/** Column mapping of an import: the customer's column, and the attribute's key for each other one. */
export type ColumnMapping = { customer: string; attributes: Record<string, string> };

/** Maximum number of columns that an import may map. */
export const MAX_MAPPED_COLUMNS = 1_000;

/** Positions of the mapping's columns in a header; columns count from 1. */
export type TableLayout = {
  /** Columns up to the last one with a name. */
  named: number;
  /** Maximum columns of a row: those of the header; in a sheet all, because a value there cannot slip to the right. */
  width: number;
  customer: number;
  /** Missing in imports of older versions. */
  customerName?: string;
  cells: TableColumn[];
  /** Number and first names of the columns that the mapping leaves out. */
  ignoredCount: number;
  ignored: string[];
};

type TableColumn = { column: number; name: string; key: string };

/** A cell as a row of three columns: customer, key and value. */
export type TableCell = { column: number; fields: [customerId: string, key: string, value: string] };

const MAX_SHOWN_NAMES = 100;

/** Returns the layout of a table with these names in its header, or why the mapping does not fit it. */
export function findLayout(
  header: readonly string[],
  { customer, attributes }: ColumnMapping,
  isSheet = false,
): TableLayout | { message: string } {
  const names = header.map((name) => name.trim());
  if (names.length > MAX_COLUMNS)
    return { message: `the header has ${names.length} columns, and a table at most ${MAX_COLUMNS}` };
  const named = names.findLastIndex((name) => name !== '') + 1;
  const columnsOf = columnFinder(names);
  const wanted = [customer, ...Object.keys(attributes)].map((name) => ({ name, columns: columnsOf(name) }));
  const lacking = wanted.filter(({ columns }) => columns.length === 0);
  if (lacking.length > 0)
    return {
      message: sayLacking(
        lacking.map(({ name }) => name),
        names.slice(0, named),
        isSheet,
      ),
    };
  const ambiguous = wanted.find(({ columns }) => columns.length > 1);
  if (ambiguous)
    return { message: `the header has ${ambiguous.columns.length} columns ${quote(ambiguous.name)}: rename one` };
  const [ofCustomer, ...ofAttributes] = wanted.map(({ columns }) => columns[0]!);
  const cells = Object.entries(attributes).map(([, key], at) => ({
    column: ofAttributes[at]!,
    name: names[ofAttributes[at]! - 1]!,
    key,
  }));
  const twice = cells.find(({ column }, at) => cells.findIndex((other) => other.column === column) !== at);
  if (twice) return { message: `two members of columns.attributes name the column ${quote(twice.name)}` };
  const mapped = new Set([ofCustomer, ...ofAttributes]);
  const others = names
    .slice(0, named)
    .flatMap((name, at) => (mapped.has(at + 1) ? [] : [name === '' ? `column ${at + 1}` : name]));
  return {
    named,
    width: isSheet ? MAX_COLUMNS : names.length,
    customer: ofCustomer!,
    customerName: names[ofCustomer! - 1]!,
    ignoredCount: others.length,
    ignored: others.slice(0, MAX_SHOWN_NAMES).map((name) => shorten(name, MAX_CODE_POINTS)),
    cells: cells.toSorted((one, other) => one.column - other.column),
  };
}

/** Finds the columns with a name; if there is none, those that differ only in case, composition or white space. */
function columnFinder(names: readonly string[]): (wanted: string) => number[] {
  const columns = names.map((name, at) => ({ name, column: at + 1 }));
  const exact = Map.groupBy(columns, ({ name }) => name);
  const similar = Map.groupBy(columns, ({ name }) => folded(name));
  return (wanted) => (exact.get(wanted) ?? similar.get(folded(wanted)) ?? []).map(({ column }) => column);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

function sayLacking(lacking: string[], names: string[], isSheet: boolean): string {
  const hint = isSheet
    ? '. If the table stands in another sheet, set sheet'
    : names.length === 1
      ? '. If it has more, set delimiter'
      : '';
  return `the header has no ${lacking.length === 1 ? 'column' : 'columns'} ${sayNames(lacking)}; it has ${sayNames(names)}${hint}`;
}

/** Lists names of columns, the first hundred. */
export function sayNames(names: string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > MAX_SHOWN_NAMES ? `, and ${names.length - MAX_SHOWN_NAMES} more` : '';
  return names.slice(0, MAX_SHOWN_NAMES).map(quote).join(', ') + more;
}
