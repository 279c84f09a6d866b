import type { App, Client } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { resolveNamed } from '../core/nearest.ts';

/** The argument of commands about an app. */
export const APP = ['<app>', 'its name or identifier'] as const;

export async function findApp(client: Client, given: string): Promise<App> {
  const { apps } = await client.listApps({ query: { unwanted: true } });
  const resolved = resolveNamed(apps, given, ['app', 'apps']);
  return 'found' in resolved ? resolved.found : refuse(404, 'no_app', resolved.error);
}
