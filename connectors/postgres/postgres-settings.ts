/** Settings of the connector `postgres`: server, database, TLS. */
import { z } from 'zod';
import { harmless, secret } from '../core/contract.ts';

const text = (what: string, max: number) =>
  z
    .string({ error: `give ${what}` })
    .min(1, `give ${what}`)
    .max(max, `${what} has more than ${max} characters`)
    .refine((value) => !value.includes('\0'), `${what} has a zero byte in it`);

/** Postgres cuts longer names, and they then mean another thing. */
const identifier = (what: string) => text(what, 63);

export const PostgresSettings = z.object({
  host: text('the name or address of the server', 253)
    .regex(/^\[?[\w.:-]+\]?$/, 'write a name or an address alone, without a scheme, port or path')
    .transform((host) => host.replace(/^\[|\]$/g, ''))
    .describe('The name or address of the server'),
  port: z
    .int({ error: 'the port is a whole number' })
    .min(1, 'the port is at least 1')
    .max(65_535, 'the port is at most 65535')
    .default(5432)
    .describe('Its port'),
  database: identifier('the name of the database').describe('The database'),
  user: identifier('the name of the user').describe(
    'A user of the database; to read, one that may do no more than that',
  ),
  password: secret(text('the password', 1_000)).describe("The user's password"),
  tls: z
    .enum(['on', 'off'], { error: 'tls is "on" or "off"' })
    .default('on')
    .describe('Whether the connection is encrypted, and the certificate of the server verified'),
  tls_ca: z
    .string({ error: 'tls_ca is text in PEM' })
    .max(100_000, 'tls_ca has more than 100000 characters')
    .refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), 'tls_ca has no -----BEGIN CERTIFICATE----- in it')
    .optional()
    .describe('The authority that signed the certificate of the server, in PEM, where it is none of the public ones'),
  schema: harmless(
    identifier('the name of the schema')
      .default('public')
      .describe('The schema whose tables and views are the streams'),
  ),
  queries: harmless(
    z
      .record(identifier('the name of the query'), text('the text of the query', 50_000), {
        error: 'queries are texts by their names',
      })
      .optional()
      .describe('SELECT statements by their names, which become streams as well'),
  ),
  lag_seconds: harmless(
    z
      .int({ error: 'lag_seconds is a whole number' })
      .min(0, 'lag_seconds is at least 0')
      .max(86_400, 'lag_seconds is at most 86400')
      .default(30)
      .describe(
        'Of an incremental reading by a time: how old a row is at least. No transaction should take longer to commit',
      ),
  ),
  statement_timeout_seconds: harmless(
    z
      .int({ error: 'statement_timeout_seconds is a whole number' })
      .min(1, 'statement_timeout_seconds is at least 1')
      .max(3_600, 'statement_timeout_seconds is at most 3600')
      .default(300)
      .describe('How long the server may take over a statement, and over the first or the next row of a reading'),
  ),
});

export type PostgresSettings = z.output<typeof PostgresSettings>;
