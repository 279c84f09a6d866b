import * as api from '../../api/apps/push-certificates.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  findPushCertificate,
  insertPushCertificate,
  listPushCertificates,
  openPrivateKey,
  type PushCertificate,
  updatePushCertificateRevoked,
} from '../../store/apps/push-certificates.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';
import { readPushCertificate } from './read-push-certificate.ts';

const listTheCertificates = route(
  api.listPushCertificates,
  async ({ params: { app_identifier }, caller: { entityId } }, { db }) => {
    const app = await requireApp(db, entityId, app_identifier);
    const certificates = await listPushCertificates(db, entityId, app.id);
    return { push_certificates: certificates.map((certificate) => showCertificate(certificate)) };
  },
);

const viewCertificate = route(
  api.viewPushCertificate,
  async ({ params: { app_identifier, cert_identifier }, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const certificate = (await findPushCertificate(tx, entityId, app.id, cert_identifier)) ?? refuseUnknown();
      await audit(tx, who, { action: 'read', subjectKind: 'push_certificate', subject: cert_identifier });
      return showCertificate(certificate, openPrivateKey(secrets, entityId, certificate));
    });
  },
);

const addCertificate = route(
  api.createPushCertificate,
  async ({ params: { app_identifier }, body, keepReply, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      if (app.appType !== 'iOS App') {
        refuseField('app_identifier', `is of type ${app.appType}: push certificates are those of an iOS App`);
      }
      const certificate =
        (await insertPushCertificate(tx, secrets, entityId, app.id, readPushCertificate(body, new Date()))) ??
        refuseField('x509_pem', 'is a push certificate of this app already');
      await audit(tx, who, { action: 'create', subjectKind: 'push_certificate', subject: certificate.identifier });
      return keepReply(tx, showCertificate(certificate));
    });
  },
);

const changeCertificate = route(
  api.updatePushCertificate,
  async ({ params: { app_identifier, cert_identifier }, body: { revoked }, ...who }, { db }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const certificate =
        (await updatePushCertificateRevoked(tx, entityId, app.id, cert_identifier, revoked)) ?? refuseUnknown();
      await audit(tx, who, {
        action: 'update',
        subjectKind: 'push_certificate',
        subject: cert_identifier,
        details: { revoked },
      });
      return showCertificate(certificate);
    });
  },
);

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Push certificate not found');
}

function showCertificate(certificate: PushCertificate, privateKey: string | null = null): api.PushCertificate {
  const { identifier: shown, x509Pem, revoked, notAfter, notBefore, subject, uid } = certificate;
  return {
    identifier: shown,
    x509_pem: x509Pem,
    revoked,
    not_after: notAfter.toISOString(),
    not_before: notBefore.toISOString(),
    subject,
    pkey_pem: privateKey,
    uid,
  };
}

export const pushCertificateRoutes: Route[] = [listTheCertificates, viewCertificate, addCertificate, changeCertificate];
