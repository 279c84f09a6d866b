/** The routes of purposes. */

import * as api from '../../api/apps/data-wallet.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import {
  type ElementRef,
  listPurposes,
  type Purpose,
  replacePurposeElements,
} from '../../store/apps/wallet-purposes.ts';
import { listRecipients } from '../../store/apps/wallet-recipients.ts';
import type { WalletRef } from '../../store/apps/wallet-settings.ts';
import { deleteWalletText, insertWalletText, updateWalletText } from '../../store/apps/wallet-texts.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Route } from '../http/route.ts';
import { walletRoutes } from './wallet-routes.ts';

/** Purposes of data (reference: Data wallet; the rest of the body and the changes are Millrace's own). */
export const purposeRoutes: Route[] = walletRoutes(api.purposes, {
  list: (db, { entityId, appId }, address) => listPurposes(db, entityId, appId, address),
  show: showPurpose,
  async insert(tx, wallet, body) {
    const { entityId, appId } = wallet;
    const purpose = { technicalName: body.technical_name, title: body.title ?? {}, body: body.description ?? {} };
    const made = await insertWalletText(tx, entityId, appId, 'purpose', purpose);
    if (made && body.data_elements)
      await replacePurposeElements(tx, entityId, made.id, await found(tx, wallet, body.data_elements));
    return made;
  },
  async update(tx, wallet, { id }, body) {
    const { entityId } = wallet;
    const change = { technicalName: body.technical_name, title: body.title, body: body.description };
    const isFree = await updateWalletText(tx, entityId, id, change);
    if (isFree && body.data_elements)
      await replacePurposeElements(tx, entityId, id, await found(tx, wallet, body.data_elements));
    return isFree;
  },
  remove: (tx, { entityId }, { id }) => deleteWalletText(tx, entityId, id),
});

/** Returns the named elements. Refuses the first unknown element or recipient of this app. */
async function found(tx: Queryable, { entityId, appId }: WalletRef, given: api.PurposeElements): Promise<ElementRef[]> {
  const recipients = new Map((await listRecipients(tx, entityId, appId)).map((each) => [each.technicalName, each]));
  return given.map((asked, index) => {
    const recipient =
      recipients.get(asked.recipient.technical_name) ??
      refuseField(
        `data_elements.${index}.recipient.technical_name`,
        sayUnknown(asked.recipient.technical_name, [...recipients.keys()]),
      );
    const element = recipient.elements.find((each) => each.technicalName === asked.technical_name);
    if (element) return { id: element.id, technicalName: element.technicalName };
    const names = recipient.elements.map((each) => each.technicalName);
    return refuseField(
      `data_elements.${index}.technical_name`,
      names.length > 0
        ? sayUnknown(asked.technical_name, names)
        : `is unknown: ${recipient.displayName} has no data elements`,
    );
  });
}

function showPurpose({ identifier, technicalName: name, title: shown, body, elements }: Purpose): api.Purpose {
  return {
    identifier,
    technical_name: name,
    title: shown,
    description: body,
    data_elements: elements.map((element) => ({
      technical_name: element.technicalName,
      display_name: element.displayName,
      recipient: { technical_name: element.recipient },
      data_category: { technical_name: element.category },
    })),
  };
}
