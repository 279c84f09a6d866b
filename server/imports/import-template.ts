import * as api from '../../api/imports/imports.ts';
import { templateRows } from '../../domain/imports/import-file.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { csvFile } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { findSorOfKey } from '../http/sor-key.ts';

const importTemplate = route(api.downloadImportTemplate, async ({ query, version }, deps) => {
  const sor = await findSorOfKey(deps, query.sor_id, query.api_key);
  const attributes = sor.disabled ? [] : await listCustomerAttributesOf(deps.db, sor.entityId, [sor.id]);
  const keys = attributes.filter(({ disabled }) => !disabled).map(({ key }) => key);
  return csvFile(`template-${sor.identifier}`, templateRows(version === 3 ? 'v3' : 'v2', keys));
});

export const importTemplateRoutes: Route[] = [importTemplate];
