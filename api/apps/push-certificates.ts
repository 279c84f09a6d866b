/** Certificates for pushes to iOS apps (reference: Push certificates). */

import { z } from 'zod';
import { bodyFlag, identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'Push certificates', right: 'push_certificates_manage' } as const;
const LIST = '/api/apps/:app_identifier/push_certificates';
const ONE = `${LIST}/:cert_identifier`;

/** Many times the size of the largest real one. */
const pem = text({ max: 32_768 });
const params = z.object({ app_identifier: identifier, cert_identifier: identifier });

export const PushCertificate = z
  .object({
    identifier: z.string(),
    x509_pem: z.string().describe('The certificate in PEM'),
    revoked: z.boolean(),
    not_after: z.iso.datetime(),
    not_before: z.iso.datetime(),
    subject: z.string().describe('Subject in one line, in the form of RFC 4514'),
    pkey_pem: z
      .string()
      .nullable()
      .describe('Private key in PEM (PKCS #8); null except in the view of a single certificate'),
    uid: z.string().nullable().describe('UID of the subject: Apple writes the bundle id there'),
  })
  .meta({ id: 'PushCertificate' });
export type PushCertificate = z.output<typeof PushCertificate>;

export const listPushCertificates = operation({
  id: 'listPushCertificates',
  ...SHARED,
  method: 'GET',
  path: LIST,
  summary: 'List the push certificates of an app, without their private keys',
  params: params.pick({ app_identifier: true }),
  result: z.object({ push_certificates: z.array(PushCertificate) }),
});

export const viewPushCertificate = operation({
  id: 'viewPushCertificate',
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a push certificate with its private key',
  description: 'No other call returns the private key.',
  audits: 'read push_certificate',
  params,
  result: PushCertificate,
});

export const createPushCertificate = operation({
  id: 'createPushCertificate',
  ...SHARED,
  method: 'POST',
  path: LIST,
  summary: 'Add a push certificate to an iOS app',
  audits: 'create push_certificate',
  params: params.pick({ app_identifier: true }),
  body: z.object({
    x509_pem: pem.describe('The certificate in PEM'),
    pkey_pem: pem.describe('The private key in PEM, without a passphrase'),
  }),
  result: PushCertificate,
});

export const updatePushCertificate = operation({
  id: 'updatePushCertificate',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Revoke or restore a push certificate',
  audits: 'update push_certificate',
  params,
  body: z.object({ revoked: bodyFlag }),
  result: PushCertificate,
});
