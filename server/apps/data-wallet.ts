/** Data wallets: languages, legal texts, data categories, recipients and purposes. */
import type { z } from 'zod';
import * as api from '../../api/apps/data-wallet.ts';
import type { Nothing } from '../../api/core/operation.ts';
import { languageLabel } from '../../domain/apps/language.ts';
import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT } from '../../domain/apps/wallet-defaults.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import {
  type ElementRef,
  listPurposes,
  type Purpose,
  replacePurposeElements,
  deleteRecipient,
  insertRecipient,
  listRecipients,
  type NewElement,
  type Recipient,
  replaceElements,
  updateRecipient,
  listWalletLanguages,
  upsertWalletLanguages,
  type WalletRef,
  findWalletBytes,
  lockWallet,
  deleteWalletText,
  insertWalletText,
  listWalletTexts,
  updateWalletText,
} from '../../store/apps/data-wallet.ts';
import { write, type Queryable } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { streamedList } from '../http/reply.ts';
import { type Route, route, type Handle } from '../http/route.ts';
import { requireApp } from './find-app.ts';

const viewLanguages = route(api.viewWalletLanguages, async ({ params: { app_identifier }, caller }, { db }) => {
  const { entityId, appId } = await ownWallet(db, caller.entityId, app_identifier);
  return show(await listWalletLanguages(db, entityId, appId));
});

const changeLanguages = [api.updateWalletLanguages, api.patchWalletLanguages].map((operation) =>
  route(operation, async ({ params: { app_identifier }, body, ...who }, { db }) => {
    const languages = body.languages.map((each) => each.identifier);
    return write(db, async (tx) => {
      const { entityId, appId } = await holdWallet(tx, who.caller.entityId, app_identifier);
      await upsertWalletLanguages(tx, entityId, appId, languages);
      const details = { languages: languages.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'data_wallet', subject: app_identifier, details });
      return show(await listWalletLanguages(tx, entityId, appId));
    });
  }),
);

function show(languages: string[]): api.WalletLanguages {
  return { languages: languages.map((code) => ({ identifier: code, label: languageLabel(code) })) };
}

const legalTextRoutes = walletRoutes(api.legalTexts, {
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
  async remove(tx, { entityId }, { id }) {
    await deleteWalletText(tx, entityId, id);
  },
});

const defaults = DEFAULT_CATEGORIES.map(({ description: body, ...category }) => ({
  id: null,
  identifier: null,
  body,
  ...category,
}));

/** The default categories, then the app's (reference: Data wallet). */
const dataCategoryRoutes = walletRoutes(api.dataCategories, {
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
    if (!(await deleteWalletText(tx, entityId, id))) {
      refuse(405, 'method_not_allowed', 'Cannot delete a data category that is being used');
    }
  },
});

/** The default recipient, then the app's (reference: Data wallet). */
const recipientRoutes = walletRoutes(api.recipients, {
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

/** Purposes of data (reference: Data wallet; the rest of the body and the changes are Millrace's own). */
const purposeRoutes = walletRoutes(api.purposes, {
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
  async remove(tx, { entityId }, { id }) {
    await deleteWalletText(tx, entityId, id);
  },
});

export const dataWalletRoutes: Route[] = [
  viewLanguages,
  ...changeLanguages,
  ...legalTextRoutes,
  ...dataCategoryRoutes,
  ...recipientRoutes,
  ...purposeRoutes,
];

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

/** A stored object. `id` and `identifier` are null for a default one, which is in no table. */
type Kept = { id: number | null; identifier: string | null; technicalName: string };
type Made = { id: number; identifier: string };
type NamedBody = z.ZodObject & z.ZodType<{ technical_name?: string | undefined }>;

type Defaults = { technicalNames: readonly string[]; mayNotChange: string; mayNotDelete: string };

type WalletPart<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType> = {
  /** Default objects can't be changed or deleted, and their technical names are reserved. */
  defaults?: Defaults;
  /** In order of responses; with `address` the one with that identifier or technical name. */
  list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>;
  show(kept: K): z.input<R>;
  /** Null if the technical name is taken. */
  insert(tx: Queryable, wallet: WalletRef, body: z.output<C>): Promise<{ identifier: string } | null>;
  /** False if the technical name is taken. */
  update(tx: Queryable, wallet: WalletRef, kept: K & Made, body: z.output<U>): Promise<boolean>;
  remove(tx: Queryable, wallet: WalletRef, kept: K & Made): Promise<void>;
};

/** Returns the routes. PUT and PATCH are the same. */
function walletRoutes<K extends Kept, C extends NamedBody, U extends NamedBody, R extends z.ZodType>(
  operations: api.WalletOperations<C, U, R>,
  kept: WalletPart<K, C, U, R>,
): Route[] {
  const part = { ...kept, name: operations.name };
  const addressOf = (params: Record<string, string>) => params[operations.param]!;
  const change: Handle<api.OneParams, Nothing, U, R, 'token'> = async ({ params, body, ...who }, { db }) =>
    write(db, async (tx) => {
      const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
      const kept = await known(part, tx, wallet, addressOf(params));
      if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotChange);
      refuseReserved(part, body.technical_name);
      if (!(await part.update(tx, wallet, kept, body))) refuseTaken(part);
      await refuseTooLarge(tx, wallet);
      const details = { members: Object.keys(body).join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: operations.kind, subject: kept.identifier, details });
      return part.show(await known(part, tx, wallet, kept.identifier));
    });
  return [
    route(operations.list, async ({ params, ...who }, { db, streamedLists }) => {
      const wallet = await ownWallet(db, who.caller.entityId, params['app_identifier']!);
      return streamedList(
        streamedLists.shown(
          who,
          inOnePiece(() => part.list(db, wallet)),
          (all) => all.map(part.show),
        ),
      );
    }),
    route(operations.view, async ({ params, caller }, { db }) => {
      const wallet = await ownWallet(db, caller.entityId, params['app_identifier']!);
      return part.show(await known(part, db, wallet, addressOf(params)));
    }),
    route(operations.create, async ({ params, body, keepReply, ...who }, { db }) =>
      write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        refuseReserved(part, body.technical_name);
        const made = (await part.insert(tx, wallet, body)) ?? refuseTaken(part);
        await refuseTooLarge(tx, wallet);
        await audit(tx, who, { action: 'create', subjectKind: operations.kind, subject: made.identifier });
        return keepReply(tx, part.show(await known(part, tx, wallet, made.identifier)));
      }),
    ),
    route(operations.update, change),
    route(operations.patch, change),
    route(operations.delete, async ({ params, ...who }, { db }) =>
      write(db, async (tx) => {
        const wallet = await holdWallet(tx, who.caller.entityId, params['app_identifier']!);
        const kept = await known(part, tx, wallet, addressOf(params));
        if (!isMade(kept)) refuse(405, 'method_not_allowed', part.defaults!.mayNotDelete);
        await part.remove(tx, wallet, kept);
        await audit(tx, who, { action: 'delete', subjectKind: operations.kind, subject: kept.identifier });
        return part.show(kept);
      }),
    ),
  ];
}

/** Yields a list in one piece: a wallet is limited in size, and slots limit how many lists are in memory. */
async function* inOnePiece<T>(list: () => Promise<T>): AsyncGenerator<T> {
  yield await list();
}

async function known<K extends Kept>(
  { list, name }: { list(db: Queryable, wallet: WalletRef, address?: string): Promise<K[]>; name: string },
  db: Queryable,
  wallet: WalletRef,
  address: string,
): Promise<K> {
  return (
    (await list(db, wallet, address))[0] ??
    refuse(404, 'not_found', `${name[0]!.toUpperCase()}${name.slice(1)} not found`)
  );
}

function isMade<K extends Kept>(kept: K): kept is K & Made {
  return kept.id !== null;
}

function refuseReserved({ defaults, name }: { defaults?: Defaults; name: string }, given: string | undefined): void {
  if (given === undefined || !defaults?.technicalNames.includes(given)) return;
  refuseField('technical_name', `is that of a default ${name}`);
}

function refuseTaken({ name }: { name: string }): never {
  return refuseField('technical_name', `is already that of another ${name} of this app`);
}

const MAX_MIB = 20;

/** Refuses a change after which a list would be too large to send. Call it in the transaction of the change. */
async function refuseTooLarge(tx: Queryable, { entityId, appId }: WalletRef): Promise<void> {
  if ((await findWalletBytes(tx, entityId, appId)) <= MAX_MIB * 1024 ** 2) return;
  refuse(
    400,
    'bad_request',
    `The data wallet would be too large: with the titles of what its elements belong to, its texts have ` +
      `at most ${MAX_MIB} MiB. Shorten some, or delete what is not used`,
  );
}

async function ownWallet(db: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const { id: appId } = await requireApp(db, entityId, appIdentifier);
  return { entityId, appId };
}

async function holdWallet(tx: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const wallet = await ownWallet(tx, entityId, appIdentifier);
  return (await lockWallet(tx, entityId, wallet.appId)) ? wallet : refuse(404, 'not_found', 'App not found');
}
