/** The routes of push certificates, and the reading of a certificate with its key. */

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import * as api from '../../api/apps/push-certificates.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  findPushCertificate,
  insertPushCertificate,
  listPushCertificates,
  type NewPushCertificate,
  openPrivateKey,
  type PushCertificate,
  updatePushCertificateRevoked,
} from '../../store/apps/push-certificates.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';

/** A block of a PEM file (RFC 7468). */
type Block = { label: string; body: string };

const MARK = /-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----/g;
const KEY_TYPES = { 'PRIVATE KEY': 'pkcs8', 'RSA PRIVATE KEY': 'pkcs1', 'EC PRIVATE KEY': 'sec1' } as const;
type KeyLabel = keyof typeof KEY_TYPES;

const NO_CERTIFICATE = 'must be a certificate in PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----';
const NO_KEY = 'must be a private key in PEM, from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----';
const WITH_PASSPHRASE =
  'is encrypted with a passphrase: send it decrypted (openssl pkey -in key.pem); it is kept encrypted here';
const LOST_PLUS = ': its + signs were lost on the way, so percent-encode it in a web form (curl --data-urlencode)';

/**
 * Reads a certificate and its key from texts that may have more around them; returns both as PEM, the key as PKCS #8.
 * Refuses other content, encrypted or foreign keys, and an expired certificate.
 */
export function readPushCertificate(given: { x509_pem: string; pkey_pem: string }, now: Date): NewPushCertificate {
  const certificate = readCertificate(given.x509_pem);
  const key = readKey(given.pkey_pem);
  const { validFromDate: notBefore, validToDate: notAfter } = certificate;
  if (notAfter <= now)
    refuseField('x509_pem', `expired on ${notAfter.toISOString()}: renew the certificate, and send the new one`);
  if (!certificate.checkPrivateKey(key)) refuseField('pkey_pem', 'is the key of another certificate than x509_pem');
  const names = readSubject(certificate);
  return {
    ...names,
    notBefore,
    notAfter,
    fingerprint: Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex'),
    x509Pem: certificate.toString(),
    pkeyPem: key.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function readCertificate(pem: string): X509Certificate {
  const [found, another] = blocksOf(pem).filter(({ label }) => label === 'CERTIFICATE');
  if (!found) return refuseField('x509_pem', NO_CERTIFICATE);
  if (another)
    return refuseField('x509_pem', 'holds several certificates: send that of the app alone, without those above it');
  try {
    const certificate = new X509Certificate(bytesOf(found));
    if (Number.isNaN(certificate.validFromDate.getTime() + certificate.validToDate.getTime()))
      throw new Error('it has no dates');
    return certificate;
  } catch {
    return refuseField('x509_pem', `cannot be read as a certificate${hintOf(found)}`);
  }
}

function readKey(pem: string): KeyObject {
  const [found, another] = blocksOf(pem).filter(({ label }) => label.endsWith('PRIVATE KEY'));
  if (!found) return refuseField('pkey_pem', NO_KEY);
  if (another) return refuseField('pkey_pem', 'holds several private keys: send that of the certificate alone');
  if (found.label.startsWith('ENCRYPTED') || found.body.includes('ENCRYPTED')) {
    return refuseField('pkey_pem', WITH_PASSPHRASE);
  }
  if (!isKeyLabel(found.label)) return refuseField('pkey_pem', NO_KEY);
  try {
    return createPrivateKey({ key: bytesOf(found), format: 'der', type: KEY_TYPES[found.label] });
  } catch {
    return refuseField('pkey_pem', `cannot be read as a private key${hintOf(found)}`);
  }
}

function isKeyLabel(label: string): label is KeyLabel {
  return Object.hasOwn(KEY_TYPES, label);
}

function blocksOf(pem: string): Block[] {
  const marks = [...pem.matchAll(MARK)];
  return marks.flatMap((begin, index) => {
    const end = marks[index + 1];
    if (begin[1] !== 'BEGIN' || end?.[1] !== 'END' || end[2] !== begin[2]) return [];
    return [{ label: begin[2]!, body: pem.slice(begin.index + begin[0].length, end.index) }];
  });
}

function bytesOf({ body }: Block): Buffer {
  // Lines may have any end, indent and length.
  return Buffer.from(body.replaceAll(/\s+/g, ''), 'base64');
}

/** Returns a hint: form encoding without escapes turns each + into a space. */
function hintOf({ body }: Block): string {
  return /[A-Za-z0-9/=] +[A-Za-z0-9/=]/.test(body) ? LOST_PLUS : '';
}

/** Returns the subject's name in one line, most specific part first (RFC 4514), and its UID. */
function readSubject({ subject }: X509Certificate): { subject: string; uid: string | null } {
  // Each part has its own line. Names of a part are joined by +, and values are escaped.
  const parts = (subject || '')
    .split('\n')
    .filter((part) => part !== '')
    .map((part) => part.split(' + '));
  const uid = parts
    .flat()
    .find((name) => name.startsWith('UID='))
    ?.slice('UID='.length);
  return {
    subject: parts
      .toReversed()
      .map((names) => names.join('+'))
      .join(','),
    uid: uid ?? null,
  };
}

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
