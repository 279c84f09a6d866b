import type { Client, ViewedApp } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { resolveNamed } from '../core/nearest.ts';

export const APP = ['<app>', 'its name or identifier'] as const;

export async function appParams(client: Client, given: string): Promise<{ app_identifier: string }> {
  return { app_identifier: (await findApp(client, given)).identifier };
}

export async function findApp(client: Client, given: string): Promise<ViewedApp> {
  const { apps } = await client.listApps({ query: { unwanted: true, secrets: false } });
  const resolved = resolveNamed(apps, given, ['app', 'apps']);
  return 'found' in resolved ? resolved.found : refuse(404, 'no_app', resolved.error);
}
