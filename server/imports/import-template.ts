import { z } from 'zod';
import { templateRows } from '../../domain/imports/import-file.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { identifier, text } from '../http/input.ts';
import { csvFile } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { findSorOfKey } from '../http/sor-key.ts';

const importTemplate = route({
  method: 'GET',
  path: '/api/attribute_values/template',
  summary: 'Get a CSV template for an import',
  description: 'The header of an import, and a row for each enabled attribute, in which user_id and value are to be filled in.',
  tag: 'Imports',
  auth: 'sor_key',
  query: z.object({ sor_id: identifier, api_key: text() }),
  contentType: 'text/csv',
  async handle({ query, version }, deps) {
    const sor = await findSorOfKey(deps, query.sor_id, query.api_key);
    const attributes = sor.disabled ? [] : await listCustomerAttributesOf(deps.db, sor.entityId, [sor.id]);
    const keys = attributes.filter(({ disabled }) => !disabled).map(({ key }) => key);
    return csvFile(`template-${sor.identifier}`, templateRows(version === 3 ? 'v3' : 'v2', keys));
  },
});

export const importTemplateRoutes: Route[] = [importTemplate];
