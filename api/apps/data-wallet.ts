import { z } from 'zod';
import type { SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { closestLanguage, isLanguage } from '../../domain/apps/language.ts';
import { isTechnicalName } from '../../domain/apps/technical-name.ts';
import { shorten } from '../../domain/core/text-limits.ts';
import { identifier, jsonArray, jsonObject, name, text } from '../core/input.ts';
import { type Method, type Nothing, type Operation, operation } from '../core/operation.ts';

/** What an app tells its users of the data it holds, and on what grounds (reference: Data wallet). */
const SHARED = { tag: 'Data wallet', right: 'gdpr_data_manage' } as const;
const PATH = '/api/apps/:app_identifier/data_wallet';

/** Titles and the like, in Unicode code points. */
const TITLE_CHARS = 256;
const DESCRIPTION_CHARS = 10_000;
const LEGAL_TEXT_CHARS = 200_000;
const SHOWN_CHARS = 60;

/** A name that callers give and address by (reference: Data wallet records). */
const technicalName = text()
  .refine(isTechnicalName, 'must hold only lowercase letters (a to z) and underscores')
  .meta({ pattern: '^[a-z_]+$' });

/** A code of ISO 639-1; `quoted` in the message as it was given. */
function languageError(code: string): string | null {
  if (isLanguage(code)) return null;
  const closest = closestLanguage(code);
  const hint = closest === null ? ', such as en or fr' : `: did you mean ${closest}?`;
  return `${shorten(code, SHOWN_CHARS)} is no ISO 639-1 code${hint}`;
}

/** A text by language; each language that is none is named. */
function texts(max: number) {
  const byLanguage = z.record(z.string(), text({ max })).check((ctx) => {
    for (const code of Object.keys(ctx.value)) {
      const message = languageError(code);
      if (message !== null) ctx.issues.push({ code: 'custom', message, path: [shorten(code, SHOWN_CHARS)], input: code });
    }
  });
  return jsonObject(byLanguage).describe('A text by language, each a code of ISO 639-1');
}

const title = texts(TITLE_CHARS);
const description = texts(DESCRIPTION_CHARS);
const legalText = texts(LEGAL_TEXT_CHARS);

/** Shown texts. */
export const TextByLanguage = z.record(z.string(), z.string()).meta({ id: 'TextByLanguage' });
export type TextByLanguage = z.output<typeof TextByLanguage>;

/** A list in which no two are the same by `nameOf`, the second one is named at `path` within it; in a web form its JSON. */
function withoutRepeats<T extends z.ZodType>(
  element: T, { min, max, path, nameOf }: { min?: number; max: number; path: string[]; nameOf: (each: z.output<T>) => string },
) {
  return jsonArray(element, max, min).check((ctx) => {
    const seen = new Set<string>();
    for (const [index, each] of ctx.value.entries()) {
      if (seen.has(nameOf(each))) {
        ctx.issues.push({ code: 'custom', message: 'stands there twice', path: [index, ...path], input: each });
      }
      seen.add(nameOf(each));
    }
  });
}

/** More than there are codes. */
const MAX_LANGUAGES = 200;

const language = text().check((ctx) => {
  const message = languageError(ctx.value);
  if (message !== null) ctx.issues.push({ code: 'custom', message, input: ctx.value });
}).describe('A code of ISO 639-1');

const LanguagesBody = z.object({
  languages: withoutRepeats(z.object({ identifier: language }), {
    min: 1, max: MAX_LANGUAGES, path: ['identifier'], nameOf: (each) => each.identifier,
  }).describe('All languages that the wallet then has'),
});

export const WalletLanguages = z.object({
  languages: z.array(z.object({ identifier: z.string(), label: z.string() })),
}).meta({ id: 'WalletLanguages' });
export type WalletLanguages = z.output<typeof WalletLanguages>;

const ONE_APP = z.object({ app_identifier: identifier });

export const viewWalletLanguages = operation({
  id: 'viewWalletLanguages',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/settings`,
  summary: 'View the languages of a data wallet',
  params: ONE_APP,
  result: WalletLanguages,
});

/** PUT and PATCH are the same (reference: Data wallet). */
const languagesBy = (id: string, method: Method) => operation({
  id,
  ...SHARED,
  method,
  path: `${PATH}/settings`,
  summary: 'Set the languages of a data wallet',
  description: 'Texts in a language that is left out stay.',
  params: ONE_APP,
  audits: 'update data_wallet',
  body: LanguagesBody,
  result: WalletLanguages,
});

export const updateWalletLanguages = languagesBy('updateWalletLanguages', 'PUT');
export const patchWalletLanguages = languagesBy('patchWalletLanguages', 'PATCH');

type AppParams = typeof ONE_APP;
/** Names the app, and under a name of its own one of its wallet's by its identifier or technical name. */
export type OneParams = z.ZodObject<{ app_identifier: typeof identifier } & Record<string, typeof identifier>>;

type WalletKind = Extract<(typeof SUBJECT_KINDS)[number], 'legal_text' | 'data_category' | 'recipient' | 'purpose'>;

/** The operations of a kind of thing in a data wallet. */
export type WalletOperations<C extends z.ZodObject, U extends z.ZodObject, R extends z.ZodType> = {
  /** As messages call one, in lower case. */
  name: string;
  /** The name of its parameter in paths. */
  param: string;
  /** As the audit log calls it. */
  kind: WalletKind;
  list: Operation<AppParams, Nothing, Nothing, z.ZodArray<R>, 'token'>;
  view: Operation<OneParams, Nothing, Nothing, R, 'token'>;
  create: Operation<AppParams, Nothing, C, R, 'token'>;
  update: Operation<OneParams, Nothing, U, R, 'token'>;
  patch: Operation<OneParams, Nothing, U, R, 'token'>;
  delete: Operation<OneParams, Nothing, Nothing, R, 'token'>;
};

/** List, view, create, change by PUT and PATCH, which are the same, and delete (reference: Data wallet). */
function walletOperations<C extends z.ZodObject, U extends z.ZodObject, R extends z.ZodType>(
  { ids: [Name, Names], words: [one, many], path: name, param, kind, record, body, change }: {
    ids: [one: string, many: string];
    /** As messages call one, and several, in lower case. */
    words: [one: string, many: string];
    /** Below the data wallet's path, and its parameter's name there. */
    path: string;
    param: string;
    kind: WalletKind;
    record: R; body: C; change: U;
  },
): WalletOperations<C, U, R> {
  const path = `${PATH}/${name}`;
  const params = z.object({ app_identifier: identifier, [param]: identifier }) as OneParams;
  const shown = { ...SHARED, path: `${path}/:${param}`, params, result: record };
  const changed = {
    ...shown, summary: `Change a ${one} of a data wallet; what is left out stays`, body: change.meta({ id: `${Name}Change` }),
  };
  return {
    name: one,
    param,
    kind,
    list: operation({
      id: `list${Names}`, ...SHARED, method: 'GET', path, summary: `List the ${many} of a data wallet`,
      params: ONE_APP, result: z.array(record),
    }),
    view: operation({
      id: `view${Name}`, ...shown, method: 'GET', summary: `View a ${one} of a data wallet, by its identifier or technical name`,
    }),
    create: operation({
      id: `create${Name}`, ...SHARED, method: 'POST', path, summary: `Add a ${one} to a data wallet`, audits: `create ${kind}`,
      params: ONE_APP, body: body.meta({ id: `New${Name}` }), result: record,
    }),
    update: operation({ id: `update${Name}`, ...changed, method: 'PUT', audits: `update ${kind}` }),
    patch: operation({ id: `patch${Name}`, ...changed, method: 'PATCH', audits: `update ${kind}` }),
    delete: operation({
      id: `delete${Name}`, ...shown, method: 'DELETE', summary: `Delete a ${one} of a data wallet; answers what it was`,
      audits: `delete ${kind}`,
    }),
  };
}

export const LegalText = z.object({
  identifier: z.string(), technical_name: z.string(), title: TextByLanguage, text: TextByLanguage,
}).meta({ id: 'LegalText' });
export type LegalText = z.output<typeof LegalText>;

const someLegalText = { title: title.optional(), text: legalText.optional() };

export const legalTexts = walletOperations({
  ids: ['LegalText', 'LegalTexts'], words: ['legal text', 'legal texts'],
  path: 'legal_texts', param: 'legal_text_identifier', kind: 'legal_text',
  record: LegalText,
  body: z.object({ technical_name: technicalName, ...someLegalText }),
  change: z.object({ technical_name: technicalName.optional(), ...someLegalText }),
});

export const {
  list: listLegalTexts, view: viewLegalText, create: createLegalText,
  update: updateLegalText, patch: patchLegalText, delete: deleteLegalText,
} = legalTexts;

export const DataCategory = z.object({
  identifier: z.string().nullable().describe('null of a default category'), technical_name: z.string(),
  title: TextByLanguage, description: TextByLanguage,
}).meta({ id: 'DataCategory' });
export type DataCategory = z.output<typeof DataCategory>;

const described = { title: title.optional(), description: description.optional() };

export const dataCategories = walletOperations({
  ids: ['DataCategory', 'DataCategories'], words: ['data category', 'data categories'],
  path: 'categories', param: 'category_identifier', kind: 'data_category',
  record: DataCategory,
  body: z.object({ technical_name: technicalName, ...described }),
  change: z.object({ technical_name: technicalName.optional().describe('Required'), ...described }),
});

export const {
  list: listDataCategories, view: viewDataCategory, create: createDataCategory,
  update: updateDataCategory, patch: patchDataCategory, delete: deleteDataCategory,
} = dataCategories;

const MAX_ELEMENTS = 1_000;

const recipientElements = withoutRepeats(z.object({
  technical_name: technicalName, display_name: name, data_category: z.object({ technical_name: text() }),
}), { max: MAX_ELEMENTS, path: ['technical_name'], nameOf: (element) => element.technical_name });

export type RecipientElements = z.output<typeof recipientElements>;

export const Recipient = z.object({
  identifier: z.string().optional().describe('Absent on the default recipient'),
  technical_name: z.string(),
  display_name: z.string(),
  count_data_elements: z.int(),
  data_elements: z.array(z.object({
    technical_name: z.string(), display_name: z.string(),
    data_category: z.object({ technical_name: z.string(), title: TextByLanguage }),
    purposes: z.array(z.object({ identifier: z.string(), technical_name: z.string(), title: TextByLanguage }))
      .describe('That name the element'),
  })),
}).meta({ id: 'Recipient' });
export type Recipient = z.output<typeof Recipient>;

export const recipients = walletOperations({
  ids: ['Recipient', 'Recipients'], words: ['recipient', 'recipients'],
  path: 'recipients', param: 'recipient_identifier', kind: 'recipient',
  record: Recipient,
  body: z.object({ technical_name: technicalName, display_name: name, data_elements: recipientElements.optional() }),
  change: z.object({
    technical_name: technicalName.optional(), display_name: name.optional(),
    data_elements: recipientElements.optional().describe('All elements that the recipient then has'),
  }),
});

export const {
  list: listRecipients, view: viewRecipient, create: createRecipient,
  update: updateRecipient, patch: patchRecipient, delete: deleteRecipient,
} = recipients;

const named = z.object({ technical_name: z.string() });

const purposeElements = withoutRepeats(z.object({
  technical_name: text(), recipient: z.object({ technical_name: text() }),
}), { max: MAX_ELEMENTS, path: ['technical_name'], nameOf: (element) => JSON.stringify([element.recipient, element.technical_name]) });

export type PurposeElements = z.output<typeof purposeElements>;

export const Purpose = z.object({
  identifier: z.string(),
  technical_name: z.string(),
  title: TextByLanguage,
  description: TextByLanguage,
  data_elements: z.array(z.object({ technical_name: z.string(), display_name: z.string(), recipient: named, data_category: named })),
}).meta({ id: 'Purpose' });
export type Purpose = z.output<typeof Purpose>;

const somePurpose = { ...described, data_elements: purposeElements.optional() };

/** What the data is for (the rest of the body and the changes are Millrace's own). */
export const purposes = walletOperations({
  ids: ['Purpose', 'Purposes'], words: ['purpose', 'purposes'],
  path: 'purposes', param: 'purpose_identifier', kind: 'purpose',
  record: Purpose,
  body: z.object({ technical_name: technicalName, ...somePurpose }),
  change: z.object({ technical_name: technicalName.optional(), ...somePurpose }),
});

export const {
  list: listPurposes, view: viewPurpose, create: createPurpose,
  update: updatePurpose, patch: patchPurpose, delete: deletePurpose,
} = purposes;
