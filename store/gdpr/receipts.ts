/** Signed receipts of requests: inserted once a round, listed by request and by person. */
import type { Row } from '../core/camel-row.ts';
import { signDocument } from '../../domain/core/signed-document.ts';
import type { GdprReceipt, NewReceipt, UnsignedReceipt } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import type { Secrets } from '../core/secrets.ts';
import type { GdprRequest } from './request-record.ts';

const OF_REQUEST = 'SELECT document FROM gdpr_receipts WHERE entity_id = $1 AND request_identifier = $2';
const OF_PEOPLE = `FROM gdpr_receipts WHERE entity_id = $1
  AND subjects && ARRAY(SELECT decode(h, 'hex') FROM unnest($2::text[]) AS h)`;

/** Inserts a round's receipt, once (`writeReceipt`). People find it by its subjects and by `otherHashes`. */
export async function insertReceipt(
  tx: Queryable,
  secrets: Pick<Secrets, 'sign'>,
  entityId: number,
  given: NewReceipt,
  otherHashes: readonly Buffer[] = [],
): Promise<GdprReceipt> {
  const {
    rows: [at],
  } = await tx.query<Row<'entities', 'identifier'> & { now: Date }>(
    'SELECT identifier, now() FROM entities WHERE id = $1',
    [entityId],
  );
  const receipt = signDocument<UnsignedReceipt>(
    {
      version: 1,
      receipt: newIdentifier('rct'),
      entity: at!.identifier,
      issued_at: at!.now.toISOString(),
      ...given,
    },
    (bytes) => secrets.sign(bytes),
  );
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_receipts (entity_id, identifier, request_identifier, request_type, round, issued_at, subjects, document)
     VALUES ($1, $2, $3, $4, $5, $6, ARRAY(SELECT decode(h, 'hex') FROM unnest($7::text[]) AS h), $8)
     ON CONFLICT (entity_id, request_identifier, round) DO NOTHING`,
    [
      entityId,
      receipt.receipt,
      receipt.request,
      receipt.type === 'access' ? 'access' : 'delete',
      receipt.round,
      at!.now,
      [...new Set([...receipt.subjects.map(({ subject }) => subject), ...hex(otherHashes)])],
      JSON.stringify(receipt),
    ],
  );
  if (rowCount === 1) return receipt;
  const { rows } = await tx.query<Row<'gdpr_receipts', 'document'>>(`${OF_REQUEST} AND round = $3`, [
    entityId,
    receipt.request,
    receipt.round,
  ]);
  return JSON.parse(rows[0]!.document) as GdprReceipt;
}

/** Lists the receipts of a request, one a round, also once the request is deleted. */
export async function listReceipts(db: Queryable, entityId: number, requestIdentifier: string): Promise<GdprReceipt[]> {
  const { rows } = await db.query<Row<'gdpr_receipts', 'document'>>(`${OF_REQUEST} ORDER BY round`, [
    entityId,
    requestIdentifier,
  ]);
  return rows.map(({ document }) => JSON.parse(document) as GdprReceipt);
}

/** Lists the receipts of any of these people, by their keyed hashes; the newest first. */
export async function listReceiptsOf(
  db: Queryable,
  entityId: number,
  hashes: readonly Buffer[],
  { offset, limit }: PageRange,
): Promise<Page<GdprReceipt>> {
  const { rows } = await db.query<Row<'gdpr_receipts', 'document'>>(
    `SELECT document ${OF_PEOPLE} ORDER BY id DESC OFFSET $3 LIMIT $4`,
    [entityId, hex(hashes), offset, limit],
  );
  const items = rows.map(({ document }) => JSON.parse(document) as GdprReceipt);
  return { items, total: await countRows(db, OF_PEOPLE, [entityId, hex(hashes)]) };
}

function hex(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('hex'));
}

export async function findRequesterName(
  db: Queryable,
  { entityId, requester: { kind, id } }: Pick<GdprRequest, 'entityId' | 'requester'>,
): Promise<string | null> {
  if (kind !== 'user' && kind !== 'service_token') return null;
  const { rows } = await db.query<{ name: string }>(
    kind === 'user'
      ? `SELECT u.uid AS name FROM users u WHERE u.id = $2 AND $1::integer IS NOT NULL`
      : 'SELECT identifier AS name FROM service_tokens WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
  return rows[0]?.name ?? null;
}
