/** Settings of a connection to Salesforce. */
import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { credential, wholeNumber } from '../core/common-settings.ts';
import { harmless, refineBy, secret } from '../core/contract.ts';

/** The address for users of production; of sandboxes, test.salesforce.com (JWT bearer flow, "aud"). */
const AUDIENCE = 'https://login.salesforce.com';

export const salesforceSettings = z
  .object({
    address: z
      .string({ error: 'address must be a text' })
      .superRefine(refineBy('address', sourceUrlError))
      .describe('The My Domain address of the org, such as https://acme.my.salesforce.com'),
    client_id: credential('client_id').describe('The consumer key of an External Client App'),
    client_secret: secret(credential('client_secret'))
      .optional()
      .describe('The consumer secret, for the client credentials flow'),
    username: credential('username').optional().describe('The user to act as, for the JWT bearer flow'),
    private_key: secret(
      z.string({ error: 'private_key must be a text' }).max(16_384, 'private_key must have at most 16384 characters'),
    )
      .superRefine(refineBy('private_key', privateKeyError))
      .optional()
      .describe('The private key of the app’s certificate as PEM, for the JWT bearer flow'),
    audience: z
      .string({ error: 'audience must be a text' })
      .superRefine(refineBy('audience', sourceUrlError))
      .default(AUDIENCE)
      .describe(`For the JWT bearer flow: ${AUDIENCE}, or https://test.salesforce.com for a sandbox`),
    api_version: harmless(
      z
        .string({ error: 'api_version must be a text' })
        .regex(/^[1-9]\d{1,2}\.0$/, 'api_version must be a version such as 67.0')
        .default('67.0'),
    ).describe('The version of the API'),
    lookback_minutes: harmless(wholeNumber('lookback_minutes', 0, 10_080).default(10)).describe(
      'How far an incremental reading goes back before the newest change so far: records appear after their time',
    ),
    bulk: harmless(
      z.enum(['auto', 'always', 'never'], { error: 'bulk must be auto, always or never' }).default('auto'),
    ).describe('Whether full readings are Bulk jobs; auto: from 50,000 records on'),
    daily_share: harmless(wholeNumber('daily_share', 1, 100).default(80)).describe(
      "Percentage of the org's calls of 24 hours; past it runs wait",
    ),
  })
  .refine(
    ({ client_secret: clientSecret, username, private_key: key }) =>
      clientSecret === undefined
        ? username !== undefined && key !== undefined
        : username === undefined && key === undefined,
    {
      message: 'either client_secret, or username and private_key together, must be set',
      path: ['client_secret'],
    },
  );

export type SalesforceSettings = z.output<typeof salesforceSettings>;

function privateKeyError(pem: string): string | undefined {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa' ? undefined : 'must be an RSA key';
  } catch {
    return 'must be a private key as PEM, beginning with -----BEGIN PRIVATE KEY-----';
  }
}
