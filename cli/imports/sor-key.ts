import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext } from '../core/command-context.ts';

/** Fetches a key of the System of Records with the token. */
export async function findSorKey(
  { server, client }: Pick<CommandContext, 'server' | 'client'>,
  sor: string,
): Promise<string> {
  if (!server.token) {
    return refuse(
      401,
      'no_token',
      "Set MILLRACE_TOKEN, with which the SoR's key is fetched, or give the key by --api-key.",
    );
  }
  const { api_keys: keys } = await client.viewSystemOfRecord({ params: { sor_identifier: sor } });
  return keys[0] ?? refuse(404, 'no_key', `The System of Record ${sor} has no API key: only custom ones take files.`);
}
