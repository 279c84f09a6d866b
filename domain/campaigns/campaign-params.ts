/** The messages of a campaign: compiled once from its `params`, and rendered for each recipient. */

import { utf8Bytes } from '../text/utf8-bytes.ts';
import {
  compileTemplate,
  isProfileName,
  joinPlaceholders,
  MAX_MESSAGE_BYTES,
  type Placeholder,
  type TemplateVars,
} from './placeholders.ts';

type MessageParameter = { key: string; value: string };

/** The messages of a campaign, under the names of the reference (Campaign body, Transactional campaigns). */
export type CampaignParams = {
  push_message?: string;
  push_title?: string;
  push_subtitle?: string;
  deep_linking_url?: string;
  pushAttachment?: string;
  pushCategory?: string;
  push_includes_sound: boolean;
  push_sound_value?: string;
  push_action?: string;
  push_parameters: MessageParameter[];
  /** In seconds. */
  expire_after: number;
  inapp?: 'native' | 'url';
  message_title?: string;
  message_content?: string;
  message_btn?: string;
  inapp_content_url?: string;
  inapp_content_title?: string;
  inapp_content_auto_display?: boolean;
  inapp_parameters: MessageParameter[];
};

type MessageParameters = Readonly<Record<string, string>>;

export type PushContent = {
  title: string | null;
  /** Shown by iOS; other apps get it as data. */
  subtitle: string | null;
  body: string;
  deepLink: string | null;
  attachmentUrl: string | null;
  category: string | null;
  /** A sound file of the app, or `default`; null: silent. */
  sound: string | null;
  /** Reach the app unchanged, except for names that Millrace or the provider uses. */
  parameters: MessageParameters;
};

/** An in-app message. A native one has title, content and button; one of kind `url` has an address. */
export type InappContent = {
  kind: 'native' | 'url';
  title: string | null;
  content: string | null;
  button: string | null;
  contentUrl: string | null;
  contentTitle: string | null;
  autoDisplay: boolean;
  deepLink: string | null;
  parameters: MessageParameters;
};

/** A message; or the placeholders without value and default; or the fact that it exceeds MAX_MESSAGE_BYTES. */
type Rendered<Content> = { message: Content } | { missing: string[] } | { isTooBig: true };

export type CompiledMessage<Content> = { placeholders: Placeholder[]; render(vars: TemplateVars): Rendered<Content> };

type Texts<Content> = {
  [Member in keyof Content]-?: Content[Member] extends string | null ? Member : never;
}[keyof Content];

const PUSH_TEXTS = ['title', 'subtitle', 'body', 'deepLink', 'attachmentUrl'] as const satisfies Texts<PushContent>[];
const INAPP_TEXTS = [
  'title',
  'content',
  'button',
  'contentUrl',
  'contentTitle',
  'deepLink',
] as const satisfies Texts<InappContent>[];
const DEFAULT_SOUND = 'default';

export function compilePush(params: CampaignParams): CompiledMessage<PushContent> {
  return compileMessage<PushContent>(
    {
      title: params.push_title ?? null,
      subtitle: params.push_subtitle ?? null,
      body: params.push_message ?? '',
      deepLink: params.deep_linking_url ?? null,
      attachmentUrl: params.pushAttachment ?? null,
      category: params.pushCategory ?? null,
      sound: params.push_includes_sound ? (params.push_sound_value ?? DEFAULT_SOUND) : null,
      parameters: toRecord([
        ...(params.push_action === undefined ? [] : [{ key: 'push_action', value: params.push_action }]),
        ...params.push_parameters,
      ]),
    },
    PUSH_TEXTS,
  );
}

export function compileInapp(params: CampaignParams): CompiledMessage<InappContent> {
  return compileMessage<InappContent>(
    {
      kind: params.inapp ?? 'native',
      title: params.message_title ?? null,
      content: params.message_content ?? null,
      button: params.message_btn ?? null,
      contentUrl: params.inapp_content_url ?? null,
      contentTitle: params.inapp_content_title ?? null,
      autoDisplay: params.inapp_content_auto_display ?? false,
      deepLink: params.deep_linking_url ?? null,
      parameters: toRecord(params.inapp_parameters),
    },
    INAPP_TEXTS,
  );
}

/** Returns the placeholders of a campaign's messages. Each message needs values for those without a default. */
export function placeholdersOf(
  params: CampaignParams,
  { push, inapp }: { push: boolean; inapp: boolean },
): Placeholder[] {
  return joinPlaceholders([
    ...(push ? compilePush(params).placeholders : []),
    ...(inapp ? compileInapp(params).placeholders : []),
  ]);
}

/** Returns the placeholders of a campaign's messages and of those of its variants, each as often as it stands there. */
export function placeholdersOfAll(
  params: CampaignParams,
  variants: readonly { params: Partial<CampaignParams> }[] | null,
  includes: { push: boolean; inapp: boolean },
): Placeholder[] {
  const messages = [params, ...(variants ?? []).map((variant) => ({ ...params, ...variant.params }))];
  return messages.flatMap((message) => placeholdersOf(message, includes));
}

/** Returns the profile values that a campaign's messages name, each once. */
export function profileNamesOf(...campaign: Parameters<typeof placeholdersOfAll>): string[] {
  const names = placeholdersOfAll(...campaign).map(({ name }) => name);
  return [...new Set(names.filter(isProfileName))];
}

function toRecord(parameters: readonly MessageParameter[]): MessageParameters {
  return Object.fromEntries(parameters.map(({ key, value }) => [key, value]));
}

/** `texts`: the members with placeholders, beside the parameters' values. The rest is the same for all devices. */
function compileMessage<Content extends { parameters: MessageParameters }>(
  content: Content,
  texts: readonly Texts<Content>[],
): CompiledMessage<Content> {
  const templates = texts.flatMap((member) => {
    const template = compileTemplate((content[member] as string | null) ?? '');
    return template.placeholders.length === 0 ? [] : [{ member, template }];
  });
  const parameters = Object.entries(content.parameters).map(([key, value]) => ({
    key,
    template: compileTemplate(value),
  }));
  const all = [...templates, ...parameters].flatMap(({ template }) => template.placeholders);
  return {
    placeholders: joinPlaceholders(all),
    render(vars) {
      if (all.length === 0) return { message: content };
      const missing = new Set<string>();
      const message = { ...content };
      for (const { member, template } of templates)
        message[member] = template.render(vars, missing) as Content[typeof member];
      message.parameters = Object.fromEntries(
        parameters.map(({ key, template }) => [key, template.render(vars, missing)]),
      );
      if (missing.size > 0) return { missing: Array.from(missing) };
      if (isTooBig(message)) return { isTooBig: true };
      const unusable = templates.filter(({ member }) => isUnusable(String(member), message[member] as string));
      if (unusable.length === 0) return { message };
      return { missing: unusable.flatMap(({ template }) => template.placeholders.map(({ name }) => name)) };
    },
  };
}

/** Returns whether a text shows nothing; null: the message has no such text. */
export function isBlank(text: string | null): boolean {
  return text !== null && text.trim() === '';
}

/** Returns whether an address is a script, or a page by itself: no tap opens such a link. */
export function isScript(address: string): boolean {
  return /^(?:javascript|vbscript|data):/i.test(address.replaceAll(/[\s\p{Cc}]/gu, ''));
}

const LINKS = new Set(['deepLink', 'attachmentUrl', 'contentUrl']);
const SHOWN = new Set(['body', 'content', 'button']);

/** Returns whether values made a text into one that a draft could not have. */
function isUnusable(member: string, text: string): boolean {
  return LINKS.has(member) ? isScript(text) : SHOWN.has(member) && isBlank(text);
}

const JSON_BYTES_A_CHARACTER = 6;

/** Returns whether a message exceeds MAX_MESSAGE_BYTES as JSON. For most, the number of characters shows it. */
function isTooBig(content: { parameters: MessageParameters }): boolean {
  let characters = 0;
  for (const value of Object.values(content) as unknown[]) if (typeof value === 'string') characters += value.length;
  for (const [key, value] of Object.entries(content.parameters)) characters += key.length + value.length;
  if (characters > MAX_MESSAGE_BYTES) return true;
  return (
    characters * JSON_BYTES_A_CHARACTER > MAX_MESSAGE_BYTES / 2 &&
    utf8Bytes(JSON.stringify(content)) > MAX_MESSAGE_BYTES
  );
}

export function areTooBig(params: CampaignParams, { push, inapp }: { push: boolean; inapp: boolean }): boolean {
  return [push && compilePush(params), inapp && compileInapp(params)].some((compiled) => {
    if (compiled === false) return false;
    const rendered = compiled.render(Object.fromEntries(compiled.placeholders.map(({ name }) => [name, ''])));
    return 'isTooBig' in rendered || ('message' in rendered && isTooBig(rendered.message));
  });
}
