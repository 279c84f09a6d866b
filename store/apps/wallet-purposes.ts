/** Purposes in a data wallet. */

import { DEFAULT_RECIPIENT } from '../../domain/apps/wallet-defaults.ts';
import type { Queryable } from '../core/database.ts';
import { listWalletTexts, type WalletText } from './wallet-texts.ts';
import { readRows, type Row } from '../core/camel-row.ts';

/** An element of a purpose, with the technical names of its recipient and category. */
type NamedElement = { technicalName: string; displayName: string; recipient: string; category: string };
export type Purpose = WalletText & { elements: NamedElement[] };

/** An element by id, or one of the default recipient's by technical name. */
export type ElementRef = { id: number | null; technicalName: string };

type ElementRow = Row<'wallet_purpose_elements', 'purposeId' | 'defaultElement'> & NamedElement;

/** Lists an app's purposes in order of creation; with `address` the one with that identifier or technical name. */
export async function listPurposes(
  db: Queryable,
  entityId: number,
  appId: number,
  address: string | null = null,
): Promise<Purpose[]> {
  const purposes = await listWalletTexts(db, entityId, appId, 'purpose', address);
  const rows = readRows<ElementRow>(
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

/** Sets the elements of a purpose, in order. */
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

function toElement({ defaultElement, technicalName, displayName, recipient, category }: ElementRow): NamedElement {
  if (defaultElement === null) return { technicalName, displayName, recipient, category };
  const element = DEFAULT_RECIPIENT.elements.find((each) => each.technicalName === defaultElement)!;
  return { ...element, recipient: DEFAULT_RECIPIENT.technicalName };
}
