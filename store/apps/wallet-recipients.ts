/** Recipients in a data wallet, and their elements. */

import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT, type Texts } from '../../domain/apps/wallet-defaults.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

/** Data that a recipient has of a user; `id` is null for the default recipient's. */
type WalletElement = {
  id: number | null;
  technicalName: string;
  displayName: string;
  category: { technicalName: string; title: Texts };
  /** The purposes that name it, in order of creation. */
  purposes: { identifier: string; technicalName: string; title: Texts }[];
};

/** A recipient; `id` and `identifier` are null for the default one. */
export type Recipient = {
  id: number | null;
  identifier: string | null;
  technicalName: string;
  displayName: string;
  elements: WalletElement[];
};

/** A new element. Its category has an id, or for a default one, whose `id` is null, a technical name. */
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
/** Purposes by an element's id, or by technical name for the default recipient's. */
type PurposesOf = Map<number | string | null, PurposeRow[]>;

/**
 * Lists the default recipient, then an app's in order of creation; with `address` the one with that identifier or
 * technical name.
 */
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

/** Inserts a recipient; null if the app has one with that technical name. */
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

/** Deletes a recipient with its elements, also from purposes. */
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

/** Returns whether any recipient has an element of the category. */
export async function isCategoryUsed(db: Queryable, entityId: number, categoryId: number): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM wallet_elements WHERE entity_id = $1 AND category_id = $2 LIMIT 1', [
    entityId,
    categoryId,
  ]);
  return rows.length > 0;
}
