/** Groups of apps: an app may be in several. */

import { z } from 'zod';
import { identifier, name, textArray } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'App groups' } as const;
const PATH = '/api/app_groups';
const ONE = `${PATH}/:group_identifier`;
const MAX_APPS = 1_000;
const params = z.object({ group_identifier: identifier });
const apps = textArray(identifier, MAX_APPS).optional().describe('Identifiers of all apps in the group');

export const AppGroup = z
  .object({
    identifier: z.string(),
    name: z.string(),
    created_at: z.int().describe('Seconds since the epoch'),
    apps: z.array(z.string()),
  })
  .meta({ id: 'AppGroup' });
export type AppGroup = z.output<typeof AppGroup>;

export const listAppGroups = operation({
  id: 'listAppGroups',
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: PATH,
  summary: 'List the groups of apps',
  result: z.array(AppGroup),
});

export const viewAppGroup = operation({
  id: 'viewAppGroup',
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: ONE,
  summary: 'View a group of apps',
  params,
  result: AppGroup,
});

export const createAppGroup = operation({
  id: 'createAppGroup',
  ...SHARED,
  right: 'apps_manage',
  method: 'POST',
  path: PATH,
  summary: 'Create a group of apps',
  audits: 'create app_group',
  body: z.object({ name, apps }),
  result: AppGroup,
});

export const updateAppGroup = operation({
  id: 'updateAppGroup',
  ...SHARED,
  right: 'apps_manage',
  method: 'PUT',
  path: ONE,
  summary: 'Update a group of apps',
  audits: 'update app_group',
  params,
  body: z.object({ name: name.optional(), apps }),
  result: AppGroup,
});

export const deleteAppGroup = operation({
  id: 'deleteAppGroup',
  ...SHARED,
  right: 'apps_manage',
  method: 'DELETE',
  path: ONE,
  summary: 'Delete a group of apps; the apps stay',
  audits: 'delete app_group',
  params,
});
