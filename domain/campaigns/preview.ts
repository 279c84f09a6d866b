/** Previews of a campaign's messages: texts with values, sizes by platform, and where devices cut them. */

import { messageIdOf } from '../sends/attempt.ts';
import {
  APNS_MAX_BYTES,
  apnsPayload,
  FCM_MAX_BYTES,
  fcmBytes,
  fcmMessage,
  PUSH_PLATFORMS,
  type PushMessage,
  type PushPlatform,
  WEB_PUSH_ENCRYPTION_BYTES,
  WEB_PUSH_MAX_BYTES,
  webPushPayload,
} from '../sends/push.ts';
import { utf8Bytes } from '../text/utf8-bytes.ts';
import {
  type CampaignParams,
  type CompiledMessage,
  compileInapp,
  compilePush,
  type InappContent,
  type PushContent,
} from './campaign-params.ts';
import {
  compileTemplate,
  isProfileName,
  joinPlaceholders,
  MAX_MESSAGE_BYTES,
  type Placeholder,
  readProfileName,
  templateText,
  type TemplateVars,
} from './placeholders.ts';

/** Numbers of characters that a device shows of a title and a text. */
export type CutAt = { title: number; body: number };

/**
 * About as many characters as devices show before a press opens the rest: the lock screen of iOS, a closed notification
 * of Android, a browser on a computer. Devices differ by screen, language and letter size. iOS and Android by Braze
 * (Push message and image formats), browsers by Batch (Optimal length for web push): Windows and macOS, rounded down.
 */
const CUT_AT: Record<PushPlatform, { plain: CutAt; withPicture: CutAt }> = {
  ios: { plain: { title: 40, body: 160 }, withPicture: { title: 40, body: 130 } },
  android: { plain: { title: 40, body: 49 }, withPicture: { title: 40, body: 49 } },
  web: { plain: { title: 35, body: 140 }, withPicture: { title: 35, body: 140 } },
};

export function cutAtOf(platform: PushPlatform, { attachmentUrl }: Pick<PushContent, 'attachmentUrl'>): CutAt {
  return CUT_AT[platform][attachmentUrl === null ? 'plain' : 'withPicture'];
}

/** Returns what a device shows of a text, with an ellipsis where it is cut. Counts characters as people see them. */
export function shownText(text: string, most: number): { text: string; isCut: boolean } {
  if (text.length <= most) return { text, isCut: false };
  const shown = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
  if (shown.length <= most) return { text, isCut: false };
  return { text: `${shown.slice(0, most).join('').trimEnd()}…`, isCut: true };
}

/** The value of a placeholder in a preview. A sample stands for a value that only a message or a person has. */
export type PreviewValue = { name: string; text: string; source: 'given' | 'profile' | 'default' | 'sample' };

export type PlatformSize = { platform: PushPlatform; bytes: number; maxBytes: number };

/** A message, or why it would not be sent: values that are missing, or its size. */
export type Previewed<Content> = { message: Content | null; code: 'MISSING_TEMPLATE_PARAMS' | 'MESSAGE_TO_BIG' | null };

export type MessagePreview = {
  values: PreviewValue[];
  push: (Previewed<PushContent> & { sizes: PlatformSize[] }) | null;
  inapp: (Previewed<InappContent> & { bytes: number }) | null;
};

export type PreviewInput = {
  includes: { push: boolean; inapp: boolean };
  vars?: TemplateVars;
  /** A person's profile values. A name without a value and without a default is missing then, and has no sample. */
  profile?: ReadonlyMap<string, string> | undefined;
};

/** Renders messages as they would be sent. Without values, a placeholder shows its default, or its name. */
export function previewMessages(
  params: CampaignParams,
  { includes, vars = {}, profile }: PreviewInput,
): MessagePreview {
  const push = includes.push ? compilePush(params) : null;
  const inapp = includes.inapp ? compileInapp(params) : null;
  const placeholders = joinPlaceholders([...(push?.placeholders ?? []), ...(inapp?.placeholders ?? [])]);
  const defaults = defaultsIn(params);
  const values = placeholders.map((placeholder) => valueOf(placeholder, { vars, profile, defaults }));
  const texts = Object.fromEntries(
    values.flatMap(({ name, text, source }) =>
      source === 'default' || (source === 'sample' && profile && isProfileName(name)) ? [] : [[name, text]],
    ),
  );
  const shownPush = push && previewed(push, texts);
  const shownInapp = inapp && previewed(inapp, texts);
  return {
    values,
    push: shownPush && {
      ...shownPush,
      sizes: shownPush.message === null ? [] : sizesOf(shownPush.message, params.expire_after),
    },
    inapp: shownInapp && { ...shownInapp, bytes: utf8Bytes(JSON.stringify(shownInapp.message ?? {})) },
  };
}

function previewed<Content>(compiled: CompiledMessage<Content>, texts: TemplateVars): Previewed<Content> {
  const rendered = compiled.render(texts);
  if ('message' in rendered) return { message: rendered.message, code: null };
  return { message: null, code: 'missing' in rendered ? 'MISSING_TEMPLATE_PARAMS' : 'MESSAGE_TO_BIG' };
}

function valueOf(
  { name, hasDefault }: Placeholder,
  { vars, profile, defaults }: Pick<PreviewInput, 'vars' | 'profile'> & { defaults: ReadonlyMap<string, string> },
): PreviewValue {
  if (isProfileName(name)) {
    const text = profile?.get(name);
    if (text !== undefined) return { name, text, source: 'profile' };
  } else {
    const text = Object.hasOwn(vars!, name) ? templateText(vars![name]) : undefined;
    if (text !== undefined) return { name, text, source: 'given' };
  }
  if (hasDefault) return { name, text: defaults.get(name) ?? '', source: 'default' };
  return { name, text: sampleOf(name), source: 'sample' };
}

/** Returns what a preview shows where there is no value: the name of the attribute or variable. */
function sampleOf(name: string): string {
  return (isProfileName(name) ? readProfileName(name)?.key : undefined) ?? name;
}

/** Returns the first default of each placeholder. */
function defaultsIn(params: CampaignParams): Map<string, string> {
  const { push_parameters: push, inapp_parameters: inapp, ...others } = params;
  const texts = [...Object.values(others), ...[...push, ...inapp].map(({ value }) => value)];
  const defaults = new Map<string, string>();
  for (const text of texts) {
    if (typeof text !== 'string') continue;
    for (const [name, otherwise] of compileTemplate(text).defaults) {
      if (!defaults.has(name)) defaults.set(name, otherwise);
    }
  }
  return defaults;
}

function sizesOf(content: PushContent, ttlSeconds: number): PlatformSize[] {
  const message: PushMessage = { ...content, id: messageIdOf(0), collapseKey: null, priority: 'high', ttlSeconds };
  return PUSH_PLATFORMS.map((platform) => ({ platform, ...SIZE[platform](message) }));
}

/** Sizes as the platform's own provider counts them. */
const SIZE: Record<PushPlatform, (message: PushMessage) => { bytes: number; maxBytes: number }> = {
  ios: (message) => ({ bytes: utf8Bytes(apnsPayload(message)), maxBytes: APNS_MAX_BYTES }),
  android: (message) => ({ bytes: fcmBytes(fcmMessage(message, 'android', '', 0)), maxBytes: FCM_MAX_BYTES }),
  web: (message) => ({
    bytes: utf8Bytes(webPushPayload(message)) + WEB_PUSH_ENCRYPTION_BYTES,
    maxBytes: WEB_PUSH_MAX_BYTES,
  }),
};

export const MAX_INAPP_BYTES = MAX_MESSAGE_BYTES;
