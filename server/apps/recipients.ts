/** The routes of recipients. */

import * as api from '../../api/apps/data-wallet.ts';
import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT } from '../../domain/apps/wallet-defaults.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import {
  deleteRecipient,
  insertRecipient,
  listRecipients,
  type NewElement,
  type Recipient,
  replaceElements,
  updateRecipient,
} from '../../store/apps/wallet-recipients.ts';
import type { WalletRef } from '../../store/apps/wallet-settings.ts';
import { listWalletTexts } from '../../store/apps/wallet-texts.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Route } from '../http/route.ts';
import { walletRoutes } from './wallet-routes.ts';

/** The default recipient, then the app's (reference: Data wallet). */
export const recipientRoutes: Route[] = walletRoutes(api.recipients, {
  defaults: {
    technicalNames: [DEFAULT_RECIPIENT.technicalName],
    mayNotChange: 'You can not update a static Recipient',
    mayNotDelete: 'You can not delete a static Recipient',
  },
  list: (db, { entityId, appId }, address) => listRecipients(db, entityId, appId, address),
  show: showRecipient,
  async insert(tx, wallet, { technical_name, display_name, data_elements }) {
    const named = { technicalName: technical_name, displayName: display_name };
    const made = await insertRecipient(tx, wallet.entityId, wallet.appId, named);
    if (made && data_elements)
      await replaceElements(tx, wallet.entityId, made.id, await categorised(tx, wallet, data_elements));
    return made;
  },
  async update(tx, wallet, { id }, { technical_name, display_name, data_elements }) {
    const isFree = await updateRecipient(tx, wallet.entityId, id, {
      technicalName: technical_name,
      displayName: display_name,
    });
    if (isFree && data_elements)
      await replaceElements(tx, wallet.entityId, id, await categorised(tx, wallet, data_elements));
    return isFree;
  },
  remove: (tx, { entityId }, { id }) => deleteRecipient(tx, entityId, id),
});

/** Returns the elements with their categories. Refuses the first unknown category of the app. */
async function categorised(
  tx: Queryable,
  { entityId, appId }: WalletRef,
  given: api.RecipientElements,
): Promise<NewElement[]> {
  const made = await listWalletTexts(tx, entityId, appId, 'data_category');
  const ids = new Map<string, number | null>([
    ...DEFAULT_CATEGORIES.map((category) => [category.technicalName, null] as const),
    ...made.map((category) => [category.technicalName, category.id] as const),
  ]);
  return given.map((element, index) => {
    const { technical_name: category } = element.data_category;
    const id = ids.get(category);
    if (id === undefined)
      refuseField(`data_elements.${index}.data_category.technical_name`, sayUnknown(category, [...ids.keys()]));
    return {
      technicalName: element.technical_name,
      displayName: element.display_name,
      category: { id, technicalName: category },
    };
  });
}

function showRecipient({ identifier, technicalName: name, displayName, elements }: Recipient): api.Recipient {
  return {
    ...(identifier === null ? {} : { identifier }),
    technical_name: name,
    display_name: displayName,
    count_data_elements: elements.length,
    data_elements: elements.map((element) => ({
      technical_name: element.technicalName,
      display_name: element.displayName,
      data_category: { technical_name: element.category.technicalName, title: element.category.title },
      purposes: element.purposes.map((purpose) => ({
        identifier: purpose.identifier,
        technical_name: purpose.technicalName,
        title: purpose.title,
      })),
    })),
  };
}
