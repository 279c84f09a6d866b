import * as api from '../../api/apps/data-wallet.ts';
import {
  deleteWalletText,
  insertWalletText,
  listWalletTexts,
  updateWalletText,
} from '../../store/apps/wallet-texts.ts';
import type { Route } from '../http/route.ts';
import { walletRoutes } from './wallet-routes.ts';

export const legalTextRoutes: Route[] = walletRoutes(api.legalTexts, {
  list: (db, { entityId, appId }, address) => listWalletTexts(db, entityId, appId, 'legal_text', address),
  show: (kept) => ({
    identifier: kept.identifier,
    technical_name: kept.technicalName,
    title: kept.title,
    text: kept.body,
  }),
  insert: (tx, { entityId, appId }, body) =>
    insertWalletText(tx, entityId, appId, 'legal_text', {
      technicalName: body.technical_name,
      title: body.title ?? {},
      body: body.text ?? {},
    }),
  update: (tx, { entityId }, { id }, body) =>
    updateWalletText(tx, entityId, id, {
      technicalName: body.technical_name,
      title: body.title,
      body: body.text,
    }),
  remove: (tx, { entityId }, { id }) => deleteWalletText(tx, entityId, id),
});
