import { z } from 'zod';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  findPushCertificate, insertPushCertificate, listPushCertificates, openPrivateKey, type PushCertificate,
  updatePushCertificateRevoked,
} from '../../store/apps/push-certificates.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, identifier, text } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';
import { readPushCertificate } from './read-push-certificate.ts';

/** Certificates of pushes to iOS apps (reference: Push certificates). */
const SHARED = { tag: 'Push certificates', right: 'push_certificates_manage' } as const;
const LIST = '/api/apps/:app_identifier/push_certificates';
const ONE = `${LIST}/:cert_identifier`;
/** Many times the largest that there is. */
const pem = text({ max: 32_768 });
const params = z.object({ app_identifier: identifier, cert_identifier: identifier });

const PushCertificateRecord = z.object({
  identifier: z.string(),
  x509_pem: z.string(),
  revoked: z.boolean(),
  not_after: z.iso.datetime(),
  not_before: z.iso.datetime(),
  subject: z.string().describe('In one line, as RFC 4514 has it'),
  pkey_pem: z.string().nullable().describe('In PKCS #8; null but where a single certificate is viewed'),
  uid: z.string().nullable().describe("The subject's UID, which Apple makes the bundle id"),
});

const listTheCertificates = route({
  ...SHARED,
  method: 'GET',
  path: LIST,
  summary: 'List the push certificates of an app, without their private keys',
  params: params.pick({ app_identifier: true }),
  result: z.object({ push_certificates: z.array(PushCertificateRecord) }),
  async handle({ params: { app_identifier }, caller: { entityId } }, { db }) {
    const app = await requireApp(db, entityId, app_identifier);
    const certificates = await listPushCertificates(db, entityId, app.id);
    return { push_certificates: certificates.map((certificate) => showCertificate(certificate)) };
  },
});

const viewCertificate = route({
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a push certificate with its private key',
  description: 'The audit log tells who did.',
  params,
  result: PushCertificateRecord,
  async handle({ params: { app_identifier, cert_identifier }, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const certificate = await findPushCertificate(tx, entityId, app.id, cert_identifier) ?? refuseUnknown();
      await audit(tx, who, { action: 'read', subjectKind: 'push_certificate', subject: cert_identifier });
      return showCertificate(certificate, openPrivateKey(secrets, entityId, certificate));
    });
  },
});

const addCertificate = route({
  ...SHARED,
  method: 'POST',
  path: LIST,
  summary: 'Add a push certificate to an iOS app',
  params: params.pick({ app_identifier: true }),
  body: z.object({
    x509_pem: pem.describe('The certificate in PEM'),
    pkey_pem: pem.describe('Its private key in PEM, not encrypted'),
  }),
  result: PushCertificateRecord,
  async handle({ params: { app_identifier }, body, keepReply, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      if (app.appType !== 'iOS App') {
        refuseField('app_identifier', `is of type ${app.appType}: push certificates are those of an iOS App`);
      }
      const certificate = await insertPushCertificate(tx, secrets, entityId, app.id, readPushCertificate(body, new Date()))
        ?? refuseField('x509_pem', 'is a push certificate of this app already');
      await audit(tx, who, { action: 'create', subjectKind: 'push_certificate', subject: certificate.identifier });
      return keepReply(tx, showCertificate(certificate));
    });
  },
});

const changeCertificate = route({
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Revoke or restore a push certificate',
  params,
  body: z.object({ revoked: bodyFlag }),
  result: PushCertificateRecord,
  async handle({ params: { app_identifier, cert_identifier }, body: { revoked }, ...who }, { db }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const certificate = await updatePushCertificateRevoked(tx, entityId, app.id, cert_identifier, revoked) ?? refuseUnknown();
      await audit(tx, who, { action: 'update', subjectKind: 'push_certificate', subject: cert_identifier, details: { revoked } });
      return showCertificate(certificate);
    });
  },
});

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Push certificate not found');
}

function showCertificate(certificate: PushCertificate, privateKey: string | null = null): z.input<typeof PushCertificateRecord> {
  const { identifier: shown, x509Pem, revoked, notAfter, notBefore, subject, uid } = certificate;
  return {
    identifier: shown, x509_pem: x509Pem, revoked, not_after: notAfter.toISOString(), not_before: notBefore.toISOString(), subject,
    pkey_pem: privateKey, uid,
  };
}

export const pushCertificateRoutes: Route[] = [
  listTheCertificates, viewCertificate, addCertificate, changeCertificate,
];
