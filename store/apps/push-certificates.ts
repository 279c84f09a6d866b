/** Push certificates of iOS apps, with sealed keys. */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';

export type NewPushCertificate = Row<
  'push_certificates',
  'fingerprint' | 'x509Pem' | 'pkeyPem' | 'subject' | 'uid' | 'notBefore' | 'notAfter'
>;

export type PushCertificate = Omit<NewPushCertificate, 'fingerprint' | 'pkeyPem'> &
  Row<'push_certificates', 'id' | 'identifier' | 'revoked'> & {
    /** Opened by `openPrivateKey` only. */
    sealedKey: string;
  };

const COLUMNS = 'id, identifier, x509_pem, pkey_pem AS sealed_key, subject, uid, not_before, not_after, revoked';

export async function insertPushCertificate(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
  certificate: NewPushCertificate,
): Promise<PushCertificate | null> {
  const { fingerprint, x509Pem, pkeyPem, subject, uid, notBefore, notAfter } = certificate;
  const identifier = newIdentifier('crt');
  return readRow<PushCertificate>(
    await tx.query(
      `INSERT INTO push_certificates
       (entity_id, app_id, identifier, fingerprint, x509_pem, pkey_pem, subject, uid, not_before, not_after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (entity_id, app_id, fingerprint) DO NOTHING RETURNING ${COLUMNS}`,
      [
        entityId,
        appId,
        identifier,
        fingerprint,
        x509Pem,
        secrets.seal(pkeyPem, keyCell(entityId, identifier)),
        subject,
        uid,
        notBefore,
        notAfter,
      ],
    ),
  );
}

export async function listPushCertificates(db: Queryable, entityId: number, appId: number): Promise<PushCertificate[]> {
  return readRows<PushCertificate>(
    await db.query(`SELECT ${COLUMNS} FROM push_certificates WHERE entity_id = $1 AND app_id = $2 ORDER BY id`, [
      entityId,
      appId,
    ]),
  );
}

export async function findPushCertificate(
  db: Queryable,
  entityId: number,
  appId: number,
  identifier: string,
): Promise<PushCertificate | null> {
  return readRow<PushCertificate>(
    await db.query(
      `SELECT ${COLUMNS} FROM push_certificates WHERE entity_id = $1 AND app_id = $2 AND identifier = $3`,
      [entityId, appId, identifier],
    ),
  );
}

/** Finds the first certificate that is not revoked, even if expired; null if there is none. */
export async function findCurrentPushCertificate(
  db: Queryable,
  entityId: number,
  appId: number,
): Promise<PushCertificate | null> {
  return readRow<PushCertificate>(
    await db.query(
      `SELECT ${COLUMNS} FROM push_certificates WHERE entity_id = $1 AND app_id = $2 AND NOT revoked ORDER BY id LIMIT 1`,
      [entityId, appId],
    ),
  );
}

export async function updatePushCertificateRevoked(
  tx: Queryable,
  entityId: number,
  appId: number,
  identifier: string,
  revoked: boolean,
): Promise<PushCertificate | null> {
  return readRow<PushCertificate>(
    await tx.query(
      `UPDATE push_certificates SET revoked = $4, updated_at = now()
     WHERE entity_id = $1 AND app_id = $2 AND identifier = $3 RETURNING ${COLUMNS}`,
      [entityId, appId, identifier, revoked],
    ),
  );
}

/** Returns the key in PEM, PKCS #8. A caller who shows it writes an audit entry. */
export function openPrivateKey(secrets: Secrets, entityId: number, { identifier, sealedKey }: PushCertificate): string {
  return secrets.open(sealedKey, keyCell(entityId, identifier));
}

function keyCell(entityId: number, identifier: string) {
  return { table: 'push_certificates', column: 'pkey_pem', entityId, row: identifier };
}
