/** Settings of a connection to HubSpot. */
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { credential, wholeNumber } from '../core/common-settings.ts';
import { harmless, refineBy, secret } from '../core/contract.ts';

export const hubspotSettings = z
  .object({
    access_token: secret(credential('access_token'))
      .optional()
      .describe('A Service Key, or the access token of a private app'),
    client_id: credential('client_id').optional().describe('The client id of an OAuth app, without access_token'),
    client_secret: secret(credential('client_secret')).optional().describe('The client secret of the OAuth app'),
    refresh_token: secret(credential('refresh_token'))
      .optional()
      .describe('The refresh token that an installation of the OAuth app gave'),
    lookback_minutes: harmless(wholeNumber('lookback_minutes', 0, 10_080).default(60)).describe(
      'How far an incremental reading goes back before the beginning of the last one: search finds changes late',
    ),
    archived: harmless(z.boolean({ error: 'archived must be true or false' }).default(false)).describe(
      'Whether archived records come as deletions; each incremental run then lists all archived records',
    ),
    daily_share: harmless(wholeNumber('daily_share', 1, 100).default(80)).describe(
      "Percentage of the account's daily calls; past it runs wait for the next day",
    ),
    searches_per_second: harmless(wholeNumber('searches_per_second', 1, 1_000).default(5)).describe(
      'Searches per second, which all apps of an account share; HubSpot allows five',
    ),
    address: z
      .string({ error: 'address must be a text' })
      .superRefine(refineBy('address', sourceUrlError))
      .default('https://api.hubapi.com')
      .describe('The address of the API'),
  })
  .refine(
    ({ access_token: token, client_id: id, client_secret: clientSecret, refresh_token: refresh }) =>
      token === undefined
        ? [id, clientSecret, refresh].every((value) => value !== undefined)
        : [id, clientSecret, refresh].every((value) => value === undefined),
    {
      message: 'either access_token, or client_id, client_secret and refresh_token together, must be set',
      path: ['access_token'],
    },
  );

export type HubspotSettings = z.output<typeof hubspotSettings>;
