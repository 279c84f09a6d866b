import { call, type Server } from './client.ts';
import { table } from './table.ts';

type ImportError = {
  line: number; error_type: string; customer_id: string | null; key: string | null; message: string; raw: string | null;
};

export type ErrorsOptions = { type?: string | undefined; json: boolean };

/** Prints what became of each row that changed nothing. */
export async function printErrors(server: Server, importId: string, { type, json }: ErrorsOptions): Promise<number> {
  const query = new URLSearchParams({ import_id: importId, ...(type ? { error_type: type } : {}) });
  const { attribute_errors: errors } = await call<{ attribute_errors: ImportError[] }>(
    server, 'GET', `/api/attribute_values/import_errors?${query}`);
  if (json) for (const error of errors) console.log(JSON.stringify(error));
  else if (errors.length === 0) console.log('no errors');
  else console.log(table(['line', 'error', 'customer', 'key', 'reason'], errors.map(asRow)));
  return 0;
}

function asRow({ line, error_type: type, customer_id: customer, key, message }: ImportError): string[] {
  return [line === 0 ? 'file' : String(line), type, customer ?? '', key ?? '', message];
}
