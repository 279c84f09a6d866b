import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { refineBy } from '../core/contract.ts';

/** Returns the error of a provider's address, to follow the setting's name. */
function endpointError(text: string): string | undefined {
  const error = sourceUrlError(text);
  if (error !== undefined) return error;
  const url = new URL(text);
  const isOrigin = url.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.hash === '';
  return isOrigin ? undefined : 'must be an https:// address without a path, such as https://push.example.com:8443';
}

/** For a relay, or for tests; the default is the provider's own address. */
export const endpointSetting = z
  .string({ error: 'endpoint must be a text' })
  .superRefine(refineBy('endpoint', endpointError))
  .optional()
  .describe(
    "Another address that speaks the provider's protocol, such as https://push.example.com:8443; by default the provider's own",
  );
