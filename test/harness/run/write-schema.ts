// Writes store/schema.ts, the columns of each table, from a database with all migrations: npm run schema.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../../store/core/database.ts';
import { migrate } from '../../../store/core/migrate.ts';
import { openDataFolder } from '../../../runtime/embedded/data-folder.ts';
import { startPostgres } from '../../../runtime/embedded/postgres.ts';

/** As store/core/database.ts has them parsed. */
const TYPES: Record<string, string> = {
  bigint: 'number',
  boolean: 'boolean',
  bytea: 'Buffer',
  date: 'string',
  'double precision': 'number',
  integer: 'number',
  json: 'unknown',
  jsonb: 'unknown',
  numeric: 'string',
  real: 'number',
  smallint: 'number',
  text: 'string',
  'timestamp with time zone': 'Date',
  uuid: 'string',
};

type Column = { table: string; column: string; type: string; isNullable: boolean; allowed: string | null };

/** Returns the module: a type of the rows of each table, with the columns in camel case, as readRows returns them. */
export async function schemaModule(db: Database): Promise<string> {
  const { rows } = await db.query<Column>(`
    SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type,
      NOT a.attnotnull AS "isNullable",
      (SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
       WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
         AND pg_get_constraintdef(k.oid) ~ '^CHECK \\(\\(\\w+ = ANY \\(ARRAY\\[') AS allowed
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname <> 'schema_migrations'
    ORDER BY c.relname, a.attnum`);
  const tables = [...Map.groupBy(rows, ({ table }) => table)].map(([table, columns]) => tableOf(table, columns));
  return `/** Columns of each table, written from the migrated database by \`npm run schema\`. What they mean: store/migrations/. */
export type Tables = {\n${tables.join('')}};\n`;
}

function memberOf({ column, type, isNullable, allowed }: Column): string {
  const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const element = type.replace('[]', '');
  const base = TYPES[element];
  if (base === undefined) throw new Error(`${column} has the type ${type}, which TYPES lacks`);
  const values = allowed?.match(/(?<=[[ ])(?:'[^']*'|\d+)(?=::text|[,\]])/g)?.join(' | ');
  return `${name}: ${values ?? base}${type === element ? '' : '[]'}${isNullable && base !== 'unknown' ? ' | null' : ''};`;
}

/** In one line if it fits, else with as many members in a line as fit. */
function tableOf(table: string, columns: Column[]): string {
  const members = columns.map(memberOf);
  const line = `  ${table}: { ${members.join(' ')} };\n`;
  if (line.length <= 121) return line;
  const lines: string[] = [];
  for (const member of members) {
    const longer = `${lines.at(-1)} ${member}`;
    if (lines.length > 0 && longer.length <= 120) lines[lines.length - 1] = longer;
    else lines.push(`    ${member}`);
  }
  return `  ${table}: {\n${lines.join('\n')}\n  };\n`;
}

if (import.meta.main) {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-schema-'));
  await openDataFolder(dataDir);
  const postgres = await startPostgres({ dataDir, say: () => {} });
  const db = openDatabase({ url: postgres.url });
  await migrate(db);
  await writeFile(new URL('../../../store/schema.ts', import.meta.url), await schemaModule(db));
  await db.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
}
