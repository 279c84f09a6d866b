/** The objects of a data wallet as rows of one form, and the operations on each kind. */
import type { DataCategory, LegalText, Purpose, Recipient, TextByLanguage } from '../../../api/client.ts';
import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT } from '../../../domain/apps/wallet-defaults.ts';

export type WalletData = {
  languages: readonly { identifier: string; label: string }[];
  legal: readonly LegalText[];
  categories: readonly DataCategory[];
  recipients: readonly Recipient[];
  purposes: readonly Purpose[];
};

export const KINDS = ['legal', 'purposes', 'recipients', 'categories'] as const;
export type WalletKind = (typeof KINDS)[number];

export const OPERATIONS = {
  legal: {
    param: 'legal_text_identifier',
    create: 'createLegalText',
    patch: 'patchLegalText',
    delete: 'deleteLegalText',
    lists: ['listLegalTexts'],
    one: 'legal text',
    title: 'Legal texts',
    says: 'No legal text yet: the app shows none, such as its privacy notice.',
  },
  purposes: {
    param: 'purpose_identifier',
    create: 'createPurpose',
    patch: 'patchPurpose',
    delete: 'deletePurpose',
    lists: ['listPurposes', 'listRecipients'],
    one: 'purpose',
    title: 'Purposes',
    says: 'No purpose yet: the app cannot say what its data is for.',
  },
  recipients: {
    param: 'recipient_identifier',
    create: 'createRecipient',
    patch: 'patchRecipient',
    delete: 'deleteRecipient',
    lists: ['listRecipients', 'listPurposes'],
    one: 'recipient',
    title: 'Recipients',
    says: 'No recipient yet.',
  },
  categories: {
    param: 'category_identifier',
    create: 'createDataCategory',
    patch: 'patchDataCategory',
    delete: 'deleteDataCategory',
    lists: ['listDataCategories', 'listRecipients', 'listPurposes'],
    one: 'category',
    title: 'Categories of data',
    says: 'No category yet.',
  },
} as const;

/** An object of any kind. `body` is its text or description; a recipient has neither it nor a title. */
export type WalletRow = {
  kind: WalletKind;
  id: string;
  technicalName: string;
  displayName?: string;
  title?: TextByLanguage;
  body?: TextByLanguage;
  elements?: number;
  /** True of the defaults, which stay as they are. */
  isFixed: boolean;
};

export const bodyNameOf = (kind: WalletKind): 'text' | 'description' => (kind === 'legal' ? 'text' : 'description');

export function rowsOf({ legal, categories, recipients, purposes }: WalletData): Record<WalletKind, WalletRow[]> {
  return {
    legal: legal.map(({ identifier: id, technical_name: technicalName, title, text: body }) => ({
      kind: 'legal',
      id,
      technicalName,
      title,
      body,
      isFixed: false,
    })),
    purposes: purposes.map(({ identifier: id, technical_name: technicalName, title, description, data_elements }) => ({
      kind: 'purposes',
      id,
      technicalName,
      title,
      body: description,
      elements: data_elements.length,
      isFixed: false,
    })),
    recipients: recipients.map(({ identifier: id, technical_name: technicalName, display_name, data_elements }) => ({
      kind: 'recipients',
      id: id ?? technicalName,
      technicalName,
      displayName: display_name,
      elements: data_elements.length,
      isFixed: id === undefined || technicalName === DEFAULT_RECIPIENT.technicalName,
    })),
    categories: categories.map(({ identifier: id, technical_name: technicalName, title, description: body }) => ({
      kind: 'categories',
      id: id ?? technicalName,
      technicalName,
      title,
      body,
      isFixed: id === null || DEFAULT_CATEGORIES.some((each) => each.technicalName === technicalName),
    })),
  };
}

/** Returns the texts with one language's changed; an empty text leaves it untranslated. */
export function withText(texts: TextByLanguage, language: string, text: string): TextByLanguage {
  const others = Object.entries(texts).filter(([code]) => code !== language);
  return Object.fromEntries(text === '' ? others : [...others, [language, text]]);
}

export const isTranslated = ({ title, body }: WalletRow, language: string): boolean =>
  title === undefined ||
  (Boolean(title[language]) && (Boolean(body?.[language]) || Object.keys(body ?? {}).length === 0));
