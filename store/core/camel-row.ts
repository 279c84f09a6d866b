/** Rows of a query as records: the same members in camel case. For what is read by the row: by the million, a mapper is faster. */

const names = new Map<string, string>();

function camelName(column: string): string {
  let name = names.get(column);
  if (name === undefined) {
    name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    names.set(column, name);
  }
  return name;
}

function camelRow<T>(row: object): T {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [camelName(column), value])) as T;
}

export function readRows<T>({ rows }: { rows: object[] }): T[] {
  return rows.map((row) => camelRow<T>(row));
}

/** The only row; null where there is none. */
export function readRow<T>({ rows }: { rows: object[] }): T | null {
  return rows[0] ? camelRow<T>(rows[0]) : null;
}
