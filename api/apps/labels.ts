/** Labels sort objects that users create (reference: Labels). */

import { z } from 'zod';
import { identifier, name } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Labels', right: 'usage_analytics_manage' } as const;
const params = z.object({ name: identifier });

export const Label = z
  .object({
    name: z.string(),
    targets: z.int().describe('Number of things that have the label'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Label' });
export type Label = z.output<typeof Label>;

export const listLabels = operation({
  id: 'listLabels',
  ...SHARED,
  method: 'GET',
  path: '/api/labels',
  summary: 'List labels',
  result: z.array(Label),
});

export const createLabel = operation({
  id: 'createLabel',
  ...SHARED,
  method: 'POST',
  path: '/api/labels',
  summary: 'Create a label',
  audits: 'create label',
  body: z.object({ name }),
  result: Label,
});

export const renameLabel = operation({
  id: 'renameLabel',
  ...SHARED,
  method: 'PUT',
  path: '/api/labels/:name',
  summary: 'Rename a label everywhere it is used',
  audits: 'update label',
  params,
  body: z.object({ new_name: name }),
  result: Label,
});

export const deleteLabel = operation({
  id: 'deleteLabel',
  ...SHARED,
  method: 'DELETE',
  path: '/api/labels/:name',
  summary: 'Delete a label; the things that have it stay',
  audits: 'delete label',
  params,
  status: 204,
});
