import * as api from '../../api/imports/imports.ts';
import { errorFileHeader, errorFileRow } from '../../domain/imports/error-file.ts';
import type { ImportFormat } from '../../domain/imports/import-file.ts';
import { write } from '../../store/core/database.ts';
import { type StoredImportError, streamImportErrors } from '../../store/imports/import-errors.ts';
import type { Import } from '../../store/imports/import-record.ts';
import { findImport } from '../../store/imports/imports.ts';
import { audit } from '../http/audit.ts';
import { streamedCsvFile } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseUnknownImport } from './unknown-import.ts';

const readErrorsFile = route(api.downloadImportErrors, async ({ params, query, ...who }, { db }) => {
  const { entityId } = who.caller;
  const job = await write(db, async (tx) => {
    const found = await findImport(tx, entityId, params.import_id) ?? refuseUnknownImport(params.import_id);
    await audit(tx, who, { action: 'read', subjectKind: 'import', subject: found.identifier });
    return found;
  });
  const errors = streamImportErrors(db, entityId, job.id, { errorType: query.error_type, isOpen: true });
  const format = columnsOf(job);
  return streamedCsvFile(`errors-${job.identifier}`, errorFileHeader(format), eachRow(errors, format));
});

type Columns = Pick<ImportFormat, 'columns' | 'hasErrorColumns'>;

/** Before its header is read an import has no errors of rows. */
function columnsOf({ columns, hasErrorColumns }: Import): Columns {
  return { columns: columns ?? 4, hasErrorColumns };
}

async function* eachRow(errors: AsyncIterable<StoredImportError>, format: Columns): AsyncGenerator<string[]> {
  for await (const error of errors) {
    const row = errorFileRow(error, format);
    if (row) yield row;
  }
}

export const importErrorsFileRoutes: Route[] = [readErrorsFile];
