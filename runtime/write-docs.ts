import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calledOperationsModule } from '../api/core/called-operation.ts';
import * as contract from '../api/operations.ts';
import { commandLinePage } from '../cli/command-line-page.ts';
import { rightsPage } from '../server/accounts/rights-page.ts';
import { withFileColumns } from '../server/files/file-columns.ts';
import { withLocations } from '../server/gdpr/locations-table.ts';
import { withStoredDocuments } from '../server/http/stored-documents.ts';
import { routes } from '../server/routes.ts';

await writeFile(
  join(import.meta.dirname, '..', 'api', 'core', 'called-operations.ts'),
  calledOperationsModule(contract),
);
await writeFile(join(import.meta.dirname, '..', 'docs', 'rights.md'), rightsPage(routes));
await writeFile(join(import.meta.dirname, '..', 'docs', 'command-line.md'), await commandLinePage());
const files = join(import.meta.dirname, '..', 'docs', 'files.md');
await writeFile(files, withFileColumns(await readFile(files, 'utf8')));
const privacy = join(import.meta.dirname, '..', 'docs', 'privacy.md');
await writeFile(privacy, withLocations(await readFile(privacy, 'utf8')));
const security = join(import.meta.dirname, '..', 'docs', 'security.md');
await writeFile(security, withStoredDocuments(await readFile(security, 'utf8'), routes));
