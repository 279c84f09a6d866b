/** Data wallets: languages, legal texts, data categories, recipients and purposes; their lock, and their size. */
import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT, type Texts } from '../../domain/apps/wallet-defaults.ts';
import { type Row, readRows, readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier, type IdentifierKind } from '../core/identifiers.ts';

export type WalletRef = { entityId: number; appId: number };

const NAMES_BYTES = 500;

/** Locks an app's data wallet, and the app; false if the app is deleted. */
export async function lockWallet(tx: Queryable, entityId: number, appId: number): Promise<boolean> {
  const { rowCount } = await tx.query('SELECT FROM apps WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE', [
    entityId,
    appId,
  ]);
  return rowCount === 1;
}

/** Lists the wallet's languages as ISO 639-1 codes in the given order; English by default. */
export async function listWalletLanguages(db: Queryable, entityId: number, appId: number): Promise<string[]> {
  const { rows } = await db.query<Row<'wallet_settings', 'languages'>>(
    'SELECT languages FROM wallet_settings WHERE entity_id = $1 AND app_id = $2',
    [entityId, appId],
  );
  return rows[0]?.languages ?? ['en'];
}

export async function upsertWalletLanguages(
  tx: Queryable,
  entityId: number,
  appId: number,
  languages: string[],
): Promise<void> {
  await tx.query(
    `INSERT INTO wallet_settings (entity_id, app_id, languages) VALUES ($1, $2, $3)
     ON CONFLICT (entity_id, app_id) DO UPDATE SET languages = excluded.languages, updated_at = now()`,
    [entityId, appId, languages],
  );
}

/** Returns the approximate size of the wallet's longest list, in which each element shows titles of others. */
export async function findWalletBytes(tx: Queryable, entityId: number, appId: number): Promise<number> {
  const { rows } = await tx.query<{ bytes: number }>(
    `SELECT (SELECT coalesce(sum(octet_length(t.body::text) + (octet_length(t.title::text) + $3) * (1
         + (SELECT count(*) FROM wallet_purpose_elements n WHERE n.entity_id = t.entity_id AND n.purpose_id = t.id)
         + (SELECT count(*) FROM wallet_elements e WHERE e.entity_id = t.entity_id AND e.category_id = t.id))), 0)
       FROM wallet_texts t WHERE t.entity_id = $1 AND t.app_id = $2)
     + (SELECT count(*) * $3 FROM wallet_recipients r LEFT JOIN wallet_elements e ON e.entity_id = r.entity_id AND e.recipient_id = r.id
        WHERE r.entity_id = $1 AND r.app_id = $2) AS bytes`,
    [entityId, appId, NAMES_BYTES],
  );
  return Number(rows[0]!.bytes);
}

/** Recipients in a data wallet, and their elements. */

/** `id` is null for the default recipient's. */
type WalletElement = {
  id: number | null;
  technicalName: string;
  displayName: string;
  category: { technicalName: string; title: Texts };
  purposes: { identifier: string; technicalName: string; title: Texts }[];
};

/** `id` and `identifier` are null for the default recipient. */
export type Recipient = {
  id: number | null;
  identifier: string | null;
  technicalName: string;
  displayName: string;
  elements: WalletElement[];
};

/** `category`: by id, or for a default one, with a null `id`, by technical name. */
export type NewElement = {
  technicalName: string;
  displayName: string;
  category: { id: number | null; technicalName: string };
};

type RecipientRow = Row<'wallet_recipients', 'id' | 'identifier' | 'technicalName' | 'displayName'>;
type ElementRow = Row<'wallet_elements', 'recipientId' | 'id' | 'technicalName' | 'displayName' | 'defaultCategory'> & {
  categoryName: string | null;
  categoryTitle: Texts | null;
};
type PurposeRow = Row<'wallet_purpose_elements', 'elementId' | 'defaultElement'> &
  Row<'wallet_texts', 'identifier' | 'technicalName', { title: Texts }>;
type PurposesOf = Map<number | string | null, PurposeRow[]>;

/** Lists the default recipient, then an app's by creation; `address`: an identifier or technical name. */
export async function listRecipients(
  db: Queryable,
  entityId: number,
  appId: number,
  address: string | null = null,
): Promise<Recipient[]> {
  const recipients = readRows<RecipientRow>(
    await db.query(
      `SELECT id, identifier, technical_name, display_name FROM wallet_recipients
     WHERE entity_id = $1 AND app_id = $2 AND ($3::text IS NULL OR identifier = $3 OR technical_name = $3) ORDER BY id`,
      [entityId, appId, address],
    ),
  );
  const elements = readRows<ElementRow>(
    await db.query(
      `SELECT e.recipient_id, e.id, e.technical_name, e.display_name, e.default_category,
       c.technical_name AS category_name, c.title AS category_title
     FROM wallet_elements e LEFT JOIN wallet_texts c ON c.entity_id = e.entity_id AND c.id = e.category_id
     WHERE e.entity_id = $1 AND e.recipient_id = ANY ($2) ORDER BY e.recipient_id, e.position`,
      [entityId, recipients.map(({ id }) => id)],
    ),
  );
  const purposes = readRows<PurposeRow>(
    await db.query(
      `SELECT n.element_id, n.default_element, p.identifier, p.technical_name, p.title
     FROM wallet_texts p JOIN wallet_purpose_elements n ON n.entity_id = p.entity_id AND n.purpose_id = p.id
     WHERE p.entity_id = $1 AND p.app_id = $2 AND p.kind = 'purpose' ORDER BY p.id`,
      [entityId, appId],
    ),
  );
  const purposesOf = Map.groupBy(purposes, (row) => row.elementId ?? row.defaultElement);
  const elementsOf = Map.groupBy(elements, (row) => row.recipientId);
  const isDefaultAsked = address === null || address === DEFAULT_RECIPIENT.technicalName;
  return [
    ...(isDefaultAsked ? [defaultRecipient(purposesOf)] : []),
    ...recipients.map((row) => toRecipient(row, elementsOf.get(row.id) ?? [], purposesOf)),
  ];
}

function defaultRecipient(purposesOf: PurposesOf): Recipient {
  const { technicalName, displayName, elements } = DEFAULT_RECIPIENT;
  const shown = elements.map((element) => ({
    id: null,
    technicalName: element.technicalName,
    displayName: element.displayName,
    category: defaultCategory(element.category),
    purposes: toPurposes(purposesOf.get(element.technicalName)),
  }));
  return { id: null, identifier: null, technicalName, displayName, elements: shown };
}

function toRecipient(row: RecipientRow, elements: ElementRow[], purposesOf: PurposesOf): Recipient {
  return {
    id: row.id,
    identifier: row.identifier,
    technicalName: row.technicalName,
    displayName: row.displayName,
    elements: elements.map((element) => ({
      id: element.id,
      technicalName: element.technicalName,
      displayName: element.displayName,
      category:
        element.defaultCategory === null
          ? { technicalName: element.categoryName!, title: element.categoryTitle! }
          : defaultCategory(element.defaultCategory),
      purposes: toPurposes(purposesOf.get(element.id)),
    })),
  };
}

function defaultCategory(name: string): WalletElement['category'] {
  const { technicalName, title } = DEFAULT_CATEGORIES.find((category) => category.technicalName === name)!;
  return { technicalName, title };
}

function toPurposes(rows: PurposeRow[] = []): WalletElement['purposes'] {
  return rows.map(({ identifier, technicalName, title }) => ({ identifier, technicalName, title }));
}

export async function insertRecipient(
  tx: Queryable,
  entityId: number,
  appId: number,
  { technicalName, displayName }: { technicalName: string; displayName: string },
): Promise<{ id: number; identifier: string } | null> {
  const { rows } = await tx.query<Row<'wallet_recipients', 'id' | 'identifier'>>(
    `INSERT INTO wallet_recipients (entity_id, app_id, identifier, technical_name, display_name) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (entity_id, app_id, technical_name) DO NOTHING RETURNING id, identifier`,
    [entityId, appId, newIdentifier('rcp'), technicalName, displayName],
  );
  return rows[0] ?? null;
}

/** Changes the given members; false if the app has another one with that technical name. Needs `lockWallet`. */
export async function updateRecipient(
  tx: Queryable,
  entityId: number,
  id: number,
  { technicalName, displayName }: { technicalName?: string; displayName?: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE wallet_recipients r SET technical_name = coalesce($3, technical_name), display_name = coalesce($4, display_name),
       updated_at = now()
     WHERE entity_id = $1 AND id = $2 AND NOT EXISTS (
       SELECT FROM wallet_recipients o WHERE o.entity_id = $1 AND o.app_id = r.app_id AND o.technical_name = $3 AND o.id <> $2)`,
    [entityId, id, technicalName ?? null, displayName ?? null],
  );
  return rowCount === 1;
}

export async function deleteRecipient(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM wallet_recipients WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Sets the elements of a recipient, in order. Purposes keep elements with the same technical name. */
export async function replaceElements(
  tx: Queryable,
  entityId: number,
  recipientId: number,
  elements: NewElement[],
): Promise<void> {
  const names = elements.map(({ technicalName }) => technicalName);
  await tx.query(
    'DELETE FROM wallet_elements WHERE entity_id = $1 AND recipient_id = $2 AND technical_name <> ALL ($3)',
    [entityId, recipientId, names],
  );
  await tx.query(
    `INSERT INTO wallet_elements (entity_id, recipient_id, position, technical_name, display_name, category_id, default_category)
     SELECT $1, $2, u.position, u.technical_name, u.display_name, u.category_id, u.default_category
     FROM unnest($3::text[], $4::text[], $5::integer[], $6::text[])
       WITH ORDINALITY AS u (technical_name, display_name, category_id, default_category, position)
     ON CONFLICT (entity_id, recipient_id, technical_name) DO UPDATE SET position = excluded.position,
       display_name = excluded.display_name, category_id = excluded.category_id, default_category = excluded.default_category`,
    [
      entityId,
      recipientId,
      names,
      elements.map(({ displayName }) => displayName),
      elements.map(({ category }) => category.id),
      elements.map(({ category: { id, technicalName } }) => (id === null ? technicalName : null)),
    ],
  );
}

/** Purposes in a data wallet. */

type NamedElement = { technicalName: string; displayName: string; recipient: string; category: string };
export type Purpose = WalletText & { elements: NamedElement[] };

/** An element by id, or one of the default recipient's by technical name. */
export type ElementRef = { id: number | null; technicalName: string };

type PurposeElementRow = Row<'wallet_purpose_elements', 'purposeId' | 'defaultElement'> & NamedElement;

/** Lists an app's purposes in order of creation; with `address` the one with that identifier or technical name. */
export async function listPurposes(
  db: Queryable,
  entityId: number,
  appId: number,
  address: string | null = null,
): Promise<Purpose[]> {
  const purposes = await listWalletTexts(db, entityId, appId, 'purpose', address);
  const rows = readRows<PurposeElementRow>(
    await db.query(
      `SELECT n.purpose_id, n.default_element, e.technical_name, e.display_name, r.technical_name AS recipient,
       coalesce(c.technical_name, e.default_category) AS category
     FROM wallet_purpose_elements n
     LEFT JOIN wallet_elements e ON e.entity_id = n.entity_id AND e.id = n.element_id
     LEFT JOIN wallet_recipients r ON r.entity_id = e.entity_id AND r.id = e.recipient_id
     LEFT JOIN wallet_texts c ON c.entity_id = e.entity_id AND c.id = e.category_id
     WHERE n.entity_id = $1 AND n.purpose_id = ANY ($2) ORDER BY n.purpose_id, n.position`,
      [entityId, purposes.map(({ id }) => id)],
    ),
  );
  const elementsOf = Map.groupBy(rows, (row) => row.purposeId);
  return purposes.map((purpose) => ({ ...purpose, elements: (elementsOf.get(purpose.id) ?? []).map(toElement) }));
}

export async function replacePurposeElements(
  tx: Queryable,
  entityId: number,
  purposeId: number,
  elements: ElementRef[],
): Promise<void> {
  await tx.query('DELETE FROM wallet_purpose_elements WHERE entity_id = $1 AND purpose_id = $2', [entityId, purposeId]);
  await tx.query(
    `INSERT INTO wallet_purpose_elements (entity_id, purpose_id, position, element_id, default_element)
     SELECT $1, $2, u.position, u.element_id, u.default_element
     FROM unnest($3::integer[], $4::text[]) WITH ORDINALITY AS u (element_id, default_element, position)`,
    [
      entityId,
      purposeId,
      elements.map(({ id }) => id),
      elements.map(({ id, technicalName }) => (id === null ? technicalName : null)),
    ],
  );
}

function toElement({
  defaultElement,
  technicalName,
  displayName,
  recipient,
  category,
}: PurposeElementRow): NamedElement {
  if (defaultElement === null) return { technicalName, displayName, recipient, category };
  const element = DEFAULT_RECIPIENT.elements.find((each) => each.technicalName === defaultElement)!;
  return { ...element, recipient: DEFAULT_RECIPIENT.technicalName };
}

/** Texts in a data wallet: legal texts, data categories, purposes. */

export type WalletTextKind = 'legal_text' | 'data_category' | 'purpose';

type WalletText = Row<'wallet_texts', 'id' | 'identifier' | 'technicalName', { title: Texts; body: Texts }>;
type NewWalletText = Pick<WalletText, 'technicalName' | 'title' | 'body'>;

const COLUMNS = 'id, identifier, technical_name, title, body';
const PREFIXES: Record<WalletTextKind, IdentifierKind> = { legal_text: 'lgt', data_category: 'cat', purpose: 'pur' };

/** Lists an app's texts in order of creation; with `address` the one with that identifier or technical name. */
export async function listWalletTexts(
  db: Queryable,
  entityId: number,
  appId: number,
  kind: WalletTextKind,
  address: string | null = null,
): Promise<WalletText[]> {
  return readRows<WalletText>(
    await db.query(
      `SELECT ${COLUMNS} FROM wallet_texts WHERE entity_id = $1 AND app_id = $2 AND kind = $3
     AND ($4::text IS NULL OR identifier = $4 OR technical_name = $4) ORDER BY id`,
      [entityId, appId, kind, address],
    ),
  );
}

export async function insertWalletText(
  tx: Queryable,
  entityId: number,
  appId: number,
  kind: WalletTextKind,
  text: NewWalletText,
): Promise<WalletText | null> {
  return readRow<WalletText>(
    await tx.query(
      `INSERT INTO wallet_texts (entity_id, app_id, kind, identifier, technical_name, title, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (entity_id, app_id, kind, technical_name) DO NOTHING RETURNING ${COLUMNS}`,
      [entityId, appId, kind, newIdentifier(PREFIXES[kind]), text.technicalName, text.title, text.body],
    ),
  );
}

/** Changes the given members; false if the technical name is taken. Needs `lockWallet`. */
export async function updateWalletText(
  tx: Queryable,
  entityId: number,
  id: number,
  { technicalName, title, body }: Partial<NewWalletText>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE wallet_texts t SET technical_name = coalesce($3, technical_name), title = coalesce($4, title), body = coalesce($5, body),
       updated_at = now()
     WHERE entity_id = $1 AND id = $2 AND NOT EXISTS (
       SELECT FROM wallet_texts o
       WHERE o.entity_id = $1 AND o.app_id = t.app_id AND o.kind = t.kind AND o.technical_name = $3 AND o.id <> $2)`,
    [entityId, id, technicalName ?? null, title ?? null, body ?? null],
  );
  return rowCount === 1;
}

/** Deletes a text, a purpose with its elements; false if it is a category that an element uses. Needs `lockWallet`. */
export async function deleteWalletText(tx: Queryable, entityId: number, id: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `DELETE FROM wallet_texts WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM wallet_elements WHERE entity_id = $1 AND category_id = $2)`,
    [entityId, id],
  );
  return rowCount === 1;
}
