import { z } from 'zod';
import { deleteWalletText, insertWalletText, listWalletTexts, updateWalletText } from '../../store/apps/wallet-texts.ts';
import type { Route } from '../http/route.ts';
import { legalText, technicalName, Texts, title } from './wallet-body.ts';
import { walletRoutes } from './wallet-routes.ts';

const others = { title: title.optional(), text: legalText.optional() };

export const legalTextRoutes: Route[] = walletRoutes({
  name: 'legal text', plural: 'legal texts', path: 'legal_texts', param: 'legal_text_identifier', subjectKind: 'legal_text',
  record: z.object({ identifier: z.string(), technical_name: z.string(), title: Texts, text: Texts }),
  body: z.object({ technical_name: technicalName, ...others }),
  change: z.object({ technical_name: technicalName.optional(), ...others }),
  list: (db, { entityId, appId }, address) => listWalletTexts(db, entityId, appId, 'legal_text', address),
  show: (kept) => ({ identifier: kept.identifier, technical_name: kept.technicalName, title: kept.title, text: kept.body }),
  insert: (tx, { entityId, appId }, body) => insertWalletText(tx, entityId, appId, 'legal_text', {
    technicalName: body.technical_name, title: body.title ?? {}, body: body.text ?? {},
  }),
  update: (tx, { entityId }, { id }, body) => updateWalletText(tx, entityId, id, {
    technicalName: body.technical_name, title: body.title, body: body.text,
  }),
  remove: (tx, { entityId }, { id }) => deleteWalletText(tx, entityId, id),
});
