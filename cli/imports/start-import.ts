import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Delimiter, Encoding } from '../../domain/core/csv-bytes.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { DateRule, Decimal } from '../../domain/core/table-format.ts';
import type { ColumnMapping } from '../../domain/imports/table-columns.ts';
import { findSorId } from '../attributes/find-sor.ts';
import type { CommandContext } from '../core/command-context.ts';
import { findSorKey } from './sor-key.ts';

/** How the file is read. */
export type FileOptions = {
  delimiter?: Delimiter | 'tab';
  encoding?: Encoding;
  decimal?: Decimal;
  sheet?: string;
  nullMarker?: string;
  dates?: DateRule;
};

export type ImportOptions = FileOptions & {
  sor: string;
  apiKey?: string | undefined;
  dryRun?: boolean;
  /** The import of which this one brings the corrected rows. */
  redriveOf?: string;
  /** For a table: the customer's column, and the others, each as `column=attribute`. */
  customer?: string;
  map?: string[];
  /** For the server's fetching of a URL, each as `Name: value`. */
  header?: string[];
};

/** Sends a file, or names the URL that the server fetches it from, and returns the import's identifier. */
export async function startImport(context: CommandContext, source: string, options: ImportOptions): Promise<string> {
  const isUrl = /^https?:\/\//i.test(source);
  const requestHeaders = parseHeaders(options.header ?? [], isUrl);
  const columns = mappingOf(options);
  const file = isUrl ? null : await openFile(source);
  const sor = await findSorId(context.client, options.sor);
  const fields = {
    sor_id: sor,
    api_key: options.apiKey ?? (await findSorKey(context, sor)),
    skip_email: true,
    dry_run: options.dryRun,
    redrive_of: options.redriveOf,
    delimiter: options.delimiter,
    encoding: options.encoding,
    decimal: options.decimal,
    sheet: options.sheet,
    null_marker: options.nullMarker,
    dates: options.dates,
    columns,
  };
  const { import_id: id } = await context.client.importAttributeValues(
    file
      ? { body: fields, file: new File([file], basename(source)) }
      : { body: { ...fields, file_url: source, request_headers: requestHeaders } },
  );
  return id;
}

/** The last = of a pair separates it: names of columns are less tidy than keys. */
function mappingOf({ customer, map = [] }: ImportOptions): ColumnMapping | undefined {
  if (customer === undefined && map.length === 0) return undefined;
  if (customer === undefined)
    return refuse(400, 'no_customer', '--map needs --customer: the column with the customer ids.');
  if (map.length === 0) return refuse(400, 'no_map', '--customer needs --map for each column that is to be imported.');
  const pairs = map.map((pair): [string, string] => {
    const [, column, key] = /^(.+)=([^=]+)$/s.exec(pair) ?? [pair, pair, pair];
    return [column!, key!];
  });
  const twice = pairs.find(([column], at) => pairs.findIndex(([other]) => other === column) !== at);
  if (twice) return refuse(400, 'bad_map', `--map names the column ${twice[0]} twice.`);
  return { customer, attributes: Object.fromEntries(pairs) };
}

async function openFile(path: string): Promise<Blob> {
  try {
    if ((await stat(path)).isFile()) return await openAsBlob(path);
  } catch (error) {
    return refuse(
      400,
      'unreadable',
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unreadable'}).`,
    );
  }
  return refuse(400, 'unreadable', `${path} cannot be read: it is no file.`);
}

/** A header may be a secret: a wrong one is not quoted. */
function parseHeaders(headers: string[], isUrl: boolean): Record<string, string> {
  if (headers.length > 0 && !isUrl) return refuse(400, 'bad_header', '--header is for an import by URL only.');
  return Object.fromEntries(
    headers.map((header) => {
      const [, name, value] =
        /^([^\s:]+):(.*)$/s.exec(header) ?? refuse(400, 'bad_header', "--header takes 'Name: value'.");
      return [name!, value!.trim()];
    }),
  );
}
