/** The routes of data categories. */

import * as api from '../../api/apps/data-wallet.ts';
import { DEFAULT_CATEGORIES } from '../../domain/apps/wallet-defaults.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { isCategoryUsed } from '../../store/apps/wallet-recipients.ts';
import {
  deleteWalletText,
  insertWalletText,
  listWalletTexts,
  updateWalletText,
} from '../../store/apps/wallet-texts.ts';
import type { Route } from '../http/route.ts';
import { walletRoutes } from './wallet-routes.ts';

const defaults = DEFAULT_CATEGORIES.map(({ description: body, ...category }) => ({
  id: null,
  identifier: null,
  body,
  ...category,
}));

/** The default categories, then the app's (reference: Data wallet). */
export const dataCategoryRoutes: Route[] = walletRoutes(api.dataCategories, {
  defaults: {
    technicalNames: defaults.map((category) => category.technicalName),
    mayNotChange: 'Cannot modify a static data category',
    mayNotDelete: 'Cannot delete a static data category',
  },
  async list(db, { entityId, appId }, address) {
    const asked = defaults.filter((category) => address === undefined || category.technicalName === address);
    return [...asked, ...(await listWalletTexts(db, entityId, appId, 'data_category', address))];
  },
  show: (kept) => ({
    identifier: kept.identifier,
    technical_name: kept.technicalName,
    title: kept.title,
    description: kept.body,
  }),
  insert: (tx, { entityId, appId }, body) =>
    insertWalletText(tx, entityId, appId, 'data_category', {
      technicalName: body.technical_name,
      title: body.title ?? {},
      body: body.description ?? {},
    }),
  update(tx, { entityId }, { id }, body) {
    // Not in the schema: for a default category the 405 comes first.
    const name = body.technical_name ?? refuseField('technical_name', 'is required');
    return updateWalletText(tx, entityId, id, { technicalName: name, title: body.title, body: body.description });
  },
  async remove(tx, { entityId }, { id }) {
    if (await isCategoryUsed(tx, entityId, id)) {
      refuse(405, 'method_not_allowed', 'Cannot delete a data category that is being used');
    }
    await deleteWalletText(tx, entityId, id);
  },
});
