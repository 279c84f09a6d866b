/** Data wallets: the data that an app holds about its users, and why (reference: Data wallet). */

import { z } from 'zod';
import type { SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { closestLanguage, isLanguage } from '../../domain/apps/language.ts';
import { isTechnicalName } from '../../domain/apps/technical-name.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { boundedRecord, identifier, jsonArray, jsonObject, name, stored, text } from '../core/input.ts';
import { type Method, type Nothing, type Operation, operation } from '../core/operation.ts';

const SHARED = { tag: 'Data wallet', right: 'gdpr_data_manage' } as const;
const PATH = '/api/apps/:app_identifier/data_wallet';

const TITLE_CHARS = 256;
const DESCRIPTION_CHARS = 10_000;
const LEGAL_TEXT_CHARS = 200_000;
const SHOWN_CHARS = 60;
/** Maximum sizes in the database, all languages together. */
const TITLE_BYTES = 128 * 1024;
const DESCRIPTION_BYTES = 512 * 1024;
const LEGAL_TEXT_BYTES = 1024 ** 2;
const LIST_BYTES = 512 * 1024;
/** Higher than the number of ISO 639-1 codes. */
const MAX_LANGUAGES = 200;

/** A name that callers choose, and by which they address the object (reference: Data wallet records). */
const technicalName = text()
  .refine(isTechnicalName, 'must hold only lowercase letters (a to z) and underscores')
  .meta({ pattern: '^[a-z_]+$' });

function languageError(code: string): string | null {
  if (isLanguage(code)) return null;
  const closest = closestLanguage(code);
  const hint = closest === null ? ', such as en or fr' : `: did you mean ${closest}?`;
  return `${shorten(code, SHOWN_CHARS)} is no ISO 639-1 code${hint}`;
}

function texts(max: number, maxBytes: number) {
  const byLanguage = boundedRecord(text({ max }), MAX_LANGUAGES).check((ctx) => {
    for (const code of Object.keys(ctx.value)) {
      const message = languageError(code);
      if (message !== null)
        ctx.issues.push({ code: 'custom', message, path: [shorten(code, SHOWN_CHARS)], input: code });
    }
  });
  return jsonObject(stored(maxBytes, byLanguage)).describe('A text for each language, by ISO 639-1 code');
}

const title = texts(TITLE_CHARS, TITLE_BYTES);
const description = texts(DESCRIPTION_CHARS, DESCRIPTION_BYTES);
const legalText = texts(LEGAL_TEXT_CHARS, LEGAL_TEXT_BYTES);

export const TextByLanguage = z.record(z.string(), z.string()).meta({ id: 'TextByLanguage' });
export type TextByLanguage = z.output<typeof TextByLanguage>;

/** Refuses the second of two elements with the same `nameOf`, at `path`. In a web form the list is JSON. */
function withoutRepeats<T extends z.ZodType>(
  element: T,
  { min, max, path, nameOf }: { min?: number; max: number; path: string[]; nameOf: (each: z.output<T>) => string },
) {
  return jsonArray(element, { max, maxBytes: LIST_BYTES, ...(min === undefined ? {} : { min }) }).check((ctx) => {
    const seen = new Set<string>();
    for (const [index, each] of ctx.value.entries()) {
      if (seen.has(nameOf(each))) {
        ctx.issues.push({ code: 'custom', message: 'is in the list twice', path: [index, ...path], input: each });
      }
      seen.add(nameOf(each));
    }
  });
}

const language = text()
  .check((ctx) => {
    const message = languageError(ctx.value);
    if (message !== null) ctx.issues.push({ code: 'custom', message, input: ctx.value });
  })
  .describe('ISO 639-1 code');

const LanguagesBody = z.object({
  languages: withoutRepeats(z.object({ identifier: language }), {
    min: 1,
    max: MAX_LANGUAGES,
    path: ['identifier'],
    nameOf: (each) => each.identifier,
  }).describe('All languages of the wallet: the list replaces the earlier one'),
});

export const WalletLanguages = z
  .object({
    languages: z.array(z.object({ identifier: z.string(), label: z.string() })),
  })
  .meta({ id: 'WalletLanguages' });
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

/** PUT and PATCH do the same (reference: Data wallet). */
const languagesBy = (id: string, method: Method) =>
  operation({
    id,
    ...SHARED,
    method,
    path: `${PATH}/settings`,
    summary: 'Set the languages of a data wallet',
    description: 'Millrace keeps the texts in languages that you leave out.',
    params: ONE_APP,
    audits: 'update data_wallet',
    body: LanguagesBody,
    result: WalletLanguages,
  });

export const updateWalletLanguages = languagesBy('updateWalletLanguages', 'PUT');
export const patchWalletLanguages = languagesBy('patchWalletLanguages', 'PATCH');

type AppParams = typeof ONE_APP;
export type OneParams = z.ZodObject<{ app_identifier: typeof identifier } & Record<string, typeof identifier>>;

type WalletKind = Extract<(typeof SUBJECT_KINDS)[number], 'legal_text' | 'data_category' | 'recipient' | 'purpose'>;

export type WalletOperations<C extends z.ZodObject, U extends z.ZodObject, R extends z.ZodType> = {
  name: string;
  param: string;
  kind: WalletKind;
  list: Operation<AppParams, Nothing, Nothing, z.ZodArray<R>, 'token'>;
  view: Operation<OneParams, Nothing, Nothing, R, 'token'>;
  create: Operation<AppParams, Nothing, C, R, 'token'>;
  update: Operation<OneParams, Nothing, U, R, 'token'>;
  patch: Operation<OneParams, Nothing, U, R, 'token'>;
  delete: Operation<OneParams, Nothing, Nothing, R, 'token'>;
};

/** Returns the operations on one kind of object; PUT and PATCH do the same (reference: Data wallet). */
function walletOperations<C extends z.ZodObject, U extends z.ZodObject, R extends z.ZodType>({
  ids: [Name, Names],
  words: [one, many],
  path: name,
  param,
  kind,
  record,
  body,
  change,
}: {
  ids: [one: string, many: string];
  words: [one: string, many: string];
  path: string;
  param: string;
  kind: WalletKind;
  record: R;
  body: C;
  change: U;
}): WalletOperations<C, U, R> {
  const path = `${PATH}/${name}`;
  const params = z.object({ app_identifier: identifier, [param]: identifier }) as OneParams;
  const shown = { ...SHARED, path: `${path}/:${param}`, params, result: record };
  const changed = {
    ...shown,
    summary: `Change a ${one} of a data wallet`,
    description: 'Members that you leave out stay as they are.',
    body: change.meta({ id: `${Name}Change` }),
  };
  return {
    name: one,
    param,
    kind,
    list: operation({
      id: `list${Names}`,
      ...SHARED,
      method: 'GET',
      path,
      summary: `List the ${many} of a data wallet`,
      params: ONE_APP,
      result: z.array(record),
    }),
    view: operation({
      id: `view${Name}`,
      ...shown,
      method: 'GET',
      summary: `View a ${one} of a data wallet`,
      description: 'Takes its identifier or its technical name.',
    }),
    create: operation({
      id: `create${Name}`,
      ...SHARED,
      method: 'POST',
      path,
      summary: `Add a ${one} to a data wallet`,
      audits: `create ${kind}`,
      params: ONE_APP,
      body: body.meta({ id: `New${Name}` }),
      result: record,
    }),
    update: operation({ id: `update${Name}`, ...changed, method: 'PUT', audits: `update ${kind}` }),
    patch: operation({ id: `patch${Name}`, ...changed, method: 'PATCH', audits: `update ${kind}` }),
    delete: operation({
      id: `delete${Name}`,
      ...shown,
      method: 'DELETE',
      summary: `Delete a ${one} of a data wallet`,
      description: 'Returns the deleted record.',
      audits: `delete ${kind}`,
    }),
  };
}

export const LegalText = z
  .object({
    identifier: z.string(),
    technical_name: z.string(),
    title: TextByLanguage,
    text: TextByLanguage,
  })
  .meta({ id: 'LegalText' });
export type LegalText = z.output<typeof LegalText>;

const someLegalText = { title: title.optional(), text: legalText.optional() };

export const legalTexts = walletOperations({
  ids: ['LegalText', 'LegalTexts'],
  words: ['legal text', 'legal texts'],
  path: 'legal_texts',
  param: 'legal_text_identifier',
  kind: 'legal_text',
  record: LegalText,
  body: z.object({ technical_name: technicalName, ...someLegalText }),
  change: z.object({ technical_name: technicalName.optional(), ...someLegalText }),
});

export const {
  list: listLegalTexts,
  view: viewLegalText,
  create: createLegalText,
  update: updateLegalText,
  patch: patchLegalText,
  delete: deleteLegalText,
} = legalTexts;

export const DataCategory = z
  .object({
    identifier: z.string().nullable().describe('Null for a default category'),
    technical_name: z.string(),
    title: TextByLanguage,
    description: TextByLanguage,
  })
  .meta({ id: 'DataCategory' });
export type DataCategory = z.output<typeof DataCategory>;

const described = { title: title.optional(), description: description.optional() };

export const dataCategories = walletOperations({
  ids: ['DataCategory', 'DataCategories'],
  words: ['data category', 'data categories'],
  path: 'categories',
  param: 'category_identifier',
  kind: 'data_category',
  record: DataCategory,
  body: z.object({ technical_name: technicalName, ...described }),
  change: z.object({ technical_name: technicalName.optional().describe('Required'), ...described }),
});

export const {
  list: listDataCategories,
  view: viewDataCategory,
  create: createDataCategory,
  update: updateDataCategory,
  patch: patchDataCategory,
  delete: deleteDataCategory,
} = dataCategories;

const MAX_ELEMENTS = 1_000;

const recipientElements = withoutRepeats(
  z.object({
    technical_name: technicalName,
    display_name: name,
    data_category: z.object({ technical_name: text() }),
  }),
  { max: MAX_ELEMENTS, path: ['technical_name'], nameOf: (element) => element.technical_name },
);

export type RecipientElements = z.output<typeof recipientElements>;

export const Recipient = z
  .object({
    identifier: z.string().optional().describe('Absent on the default recipient'),
    technical_name: z.string(),
    display_name: z.string(),
    count_data_elements: z.int(),
    data_elements: z.array(
      z.object({
        technical_name: z.string(),
        display_name: z.string(),
        data_category: z.object({ technical_name: z.string(), title: TextByLanguage }),
        purposes: z
          .array(z.object({ identifier: z.string(), technical_name: z.string(), title: TextByLanguage }))
          .describe('Purposes of this data element'),
      }),
    ),
  })
  .meta({ id: 'Recipient' });
export type Recipient = z.output<typeof Recipient>;

export const recipients = walletOperations({
  ids: ['Recipient', 'Recipients'],
  words: ['recipient', 'recipients'],
  path: 'recipients',
  param: 'recipient_identifier',
  kind: 'recipient',
  record: Recipient,
  body: z.object({ technical_name: technicalName, display_name: name, data_elements: recipientElements.optional() }),
  change: z.object({
    technical_name: technicalName.optional(),
    display_name: name.optional(),
    data_elements: recipientElements
      .optional()
      .describe('All elements of the recipient: the list replaces the earlier one'),
  }),
});

export const {
  list: listRecipients,
  view: viewRecipient,
  create: createRecipient,
  update: updateRecipient,
  patch: patchRecipient,
  delete: deleteRecipient,
} = recipients;

const named = z.object({ technical_name: z.string() });

const purposeElements = withoutRepeats(
  z.object({
    technical_name: text(),
    recipient: z.object({ technical_name: text() }),
  }),
  {
    max: MAX_ELEMENTS,
    path: ['technical_name'],
    nameOf: (element) => JSON.stringify([element.recipient, element.technical_name]),
  },
);

export type PurposeElements = z.output<typeof purposeElements>;

export const Purpose = z
  .object({
    identifier: z.string(),
    technical_name: z.string(),
    title: TextByLanguage,
    description: TextByLanguage,
    data_elements: z.array(
      z.object({ technical_name: z.string(), display_name: z.string(), recipient: named, data_category: named }),
    ),
  })
  .meta({ id: 'Purpose' });
export type Purpose = z.output<typeof Purpose>;

const somePurpose = { ...described, data_elements: purposeElements.optional() };

/** Purposes of the data. Other fields and changes are Millrace's own: the reference shows none. */
export const purposes = walletOperations({
  ids: ['Purpose', 'Purposes'],
  words: ['purpose', 'purposes'],
  path: 'purposes',
  param: 'purpose_identifier',
  kind: 'purpose',
  record: Purpose,
  body: z.object({ technical_name: technicalName, ...somePurpose }),
  change: z.object({ technical_name: technicalName.optional(), ...somePurpose }),
});

export const {
  list: listPurposes,
  view: viewPurpose,
  create: createPurpose,
  update: updatePurpose,
  patch: patchPurpose,
  delete: deletePurpose,
} = purposes;
