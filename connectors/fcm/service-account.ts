/** The setting `service_account`: a key file of Google's console. */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { refineBy } from '../core/refine-by.ts';

const member = (name: string) =>
  z.string({ error: `${name} is missing in the key file` }).min(1, `${name} is empty in the key file`);

/** The key file of a service account; further members are allowed. */
const KeyFile = z.looseObject(
  {
    type: z.literal('service_account', {
      error:
        'type must be service_account: send the key file of a service account, from the Firebase ' +
        'console (Project settings, Service accounts, Generate new private key)',
    }),
    project_id: member('project_id'),
    private_key_id: z.string().optional(),
    private_key: member('private_key').superRefine(refineBy('private_key', privateKeyError)),
    client_email: member('client_email'),
    token_uri: z
      .string()
      .superRefine(refineBy('token_uri', tokenUriError))
      .default('https://oauth2.googleapis.com/token'),
  },
  { error: 'service_account must be the key file of a service account: its JSON, as an object or as text' },
);
export type ServiceAccount = z.output<typeof KeyFile>;

/** Takes the file's JSON as text, or the object. */
export const serviceAccount = z.preprocess((value, ctx) => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    ctx.issues.push({
      code: 'custom',
      message: 'service_account must be the JSON of the key file, whole and unchanged',
      input: value,
    });
    return z.NEVER;
  }
}, KeyFile);

function privateKeyError(pem: string): string | undefined {
  return readKey(pem) === null
    ? 'cannot be read as an RSA private key in PEM: send the key file as it was downloaded'
    : undefined;
}

/** Returns the error of an address: requests to it carry a login for the project. */
function tokenUriError(text: string): string | undefined {
  return sourceUrlError(text) ?? (text.startsWith('https://') ? undefined : 'must be an https:// address');
}

function readKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : null;
  } catch {
    return null;
  }
}

export function privateKeyOf({ private_key: pem }: ServiceAccount): KeyObject {
  return readKey(pem)!;
}
