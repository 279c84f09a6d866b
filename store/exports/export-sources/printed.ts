import { type ExportColumn, type ExportColumnKind, exportColumnKinds } from '../../../domain/exports/export-columns.ts';
import type { ExportDataType } from '../../../domain/exports/export-data-type.ts';
import { isoUtc } from '../../core/iso-time.ts';
import { type ExportScope, literal } from './export-scope.ts';

/** An expression for each column: a timestamptz for the kind `timestamp`, for others the printed text. */
export type Expressions<Type extends ExportDataType> = Record<ExportColumn<Type>, string>;

export function appIdentifier(column: string, { apps }: ExportScope): string {
  if (apps.length === 1) return literal(apps[0]!.identifier);
  return `CASE ${column} ${apps.map(({ id, identifier }) => `WHEN ${literal(id)} THEN ${literal(identifier)}`).join(' ')} END`;
}

export function selectList<Type extends ExportDataType>(
  type: Type,
  expressions: Expressions<Type>,
  format: ExportScope['format'],
): string {
  return exportColumnKinds(type, format)
    .map(([name, kind]) => {
      return `${printed(expressions[name as ExportColumn<Type>], kind, format)} AS ${name}`;
    })
    .join(', ');
}

function printed(expression: string, kind: ExportColumnKind, format: ExportScope['format']): string {
  if (kind === 'timestamp') return isoUtc(expression);
  if (kind === 'strings') return format === 'jsonl' ? expression : `to_json(${expression})::text`;
  // COPY writes t and f.
  return kind === 'boolean' && format !== 'jsonl' ? `(${expression})::text` : expression;
}

/** JSON has no raw control character, so with these COPY puts nothing between quotes. */
const JSON_LINES = String.raw`FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02'`;

export function copyStatement(select: string, format: ExportScope['format']): string {
  return format === 'jsonl'
    ? `COPY (SELECT row_to_json(line) FROM (${select}) AS line) TO STDOUT (${JSON_LINES}, ENCODING 'UTF8')`
    : `COPY (${select}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')`;
}
