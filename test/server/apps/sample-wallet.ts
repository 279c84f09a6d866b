import { DEFAULT_RECIPIENT } from '../../../domain/apps/wallet-defaults.ts';
import {
  replacePurposeElements,
  insertRecipient,
  replaceElements,
  insertWalletText,
  type WalletTextKind,
} from '../../../store/apps/data-wallet.ts';
import { insertAppSor } from '../../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../../store/core/database.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';

/** The identifiers of an app and of what its data wallet has. */
export type SampleWallet = {
  appId: string;
  legalTextId: string;
  categoryId: string;
  spareCategoryId: string;
  recipientId: string;
  purposeId: string;
};

/** An app whose data wallet has one of each: the category is used by the recipient, whose element the purpose names. */
export async function insertSampleWallet(tx: Queryable, entityId: number): Promise<SampleWallet> {
  const app = await insertSampleApp(tx, entityId, 'com.example.wallet');
  await insertAppSor(tx, entityId, app.id);
  const insert = async (kind: WalletTextKind, technicalName: string) =>
    (await insertWalletText(tx, entityId, app.id, kind, {
      technicalName,
      title: { en: 'Title' },
      body: { en: 'Body' },
    }))!;
  const [legalText, category] = [await insert('legal_text', 'terms'), await insert('data_category', 'shopping')];
  const [spare, purpose] = [await insert('data_category', 'spare'), await insert('purpose', 'newsletter')];
  const recipient = (await insertRecipient(tx, entityId, app.id, { technicalName: 'crm', displayName: 'The CRM' }))!;
  await replaceElements(tx, entityId, recipient.id, [{ technicalName: 'basket', displayName: 'Basket', category }]);
  await replacePurposeElements(tx, entityId, purpose.id, [
    { id: null, technicalName: DEFAULT_RECIPIENT.elements[0]!.technicalName },
  ]);
  return {
    appId: app.identifier,
    legalTextId: legalText.identifier,
    categoryId: category.identifier,
    spareCategoryId: spare.identifier,
    recipientId: recipient.identifier,
    purposeId: purpose.identifier,
  };
}
