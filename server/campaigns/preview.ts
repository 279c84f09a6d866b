/** The routes of previews: a campaign's messages with values, and the pictures of outside addresses. */

import * as api from '../../api/campaigns/preview.ts';
import type { GuardedAnswer } from '../../connectors/core/guarded-fetch.ts';
import type { CampaignParams, InappContent, PushContent } from '../../domain/campaigns/campaign-params.ts';
import {
  cutAtOf,
  MAX_INAPP_BYTES,
  type MessagePreview,
  type PlatformSize,
  previewMessages,
  shownText,
} from '../../domain/campaigns/preview.ts';
import { profileNamesOf } from '../../domain/campaigns/campaign-params.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { findNamedAttributes, listProfileTexts } from '../../store/attributes/profile-texts.ts';
import { findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { personKey } from '../../store/gdpr/tombstones.ts';
import { audit } from '../http/audit.ts';
import { Reply } from '../http/reply.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Route, route } from '../http/route.ts';
import { findVariant } from '../sends/transactional.ts';
import { findProfileErrors } from './profile-errors.ts';

type Previewed = { params: CampaignParams; includes: { push: boolean; inapp: boolean } };

const preview = route(api.previewCampaign, async ({ body, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  const { user, templateVars: vars } = body;
  if (user !== undefined) requireRightOfField(api.previewCampaign, who.caller, 'user');
  const { params, includes } = await previewed(db, entityId, body);
  const names = profileNamesOf(params, null, includes);
  const person = { customerType: 'user_id', customerId: user ?? '' } as const;
  const profile =
    user === undefined
      ? undefined
      : await write(db, async (tx) => {
          const attributes = await findNamedAttributes(tx, entityId, names);
          await audit(tx, who, {
            action: 'read',
            subjectKind: 'customer',
            customerHash: secrets.customerHash(entityId, 'user_id', user),
            details: { what: 'preview', attributes: attributes.map(({ sor, key }) => `${sor} ${key}`).join(', ') },
          });
          const texts = await listProfileTexts(tx, secrets, entityId, [person], attributes);
          return texts.get(personKey(person)) ?? new Map<string, string>();
        });
  const shown = previewMessages(params, { includes, ...(vars && { vars }), profile });
  return {
    values: shown.values,
    problems: await findProfileErrors(db, entityId, { params }),
    push: shown.push && showPush(shown.push),
    inapp: shown.inapp && showInapp(shown.inapp),
  };
});

/** Returns the message that is asked for: a campaign's or a variant's, with the given fields over it. */
async function previewed(
  db: Queryable,
  entityId: number,
  body: {
    campaign?: string | undefined;
    variant?: string | undefined;
    includes_push?: boolean | undefined;
    includes_inapp?: boolean | undefined;
    params?: CampaignParams | undefined;
    variant_params?: Partial<CampaignParams> | undefined;
  },
): Promise<Previewed> {
  const campaign = body.campaign === undefined ? null : await findCampaignByKey(db, entityId, body.campaign);
  if (body.campaign !== undefined && campaign === null) refuse(404, 'not_found', 'Campaign not found');
  const variant = body.variant === undefined ? null : variantOf(campaign, body.variant);
  const params = body.params ?? campaign?.params ?? refuseField('params', 'is required without campaign');
  return {
    params: { ...params, ...(body.params ? {} : variant?.params), ...body.variant_params },
    includes: {
      push: body.includes_push ?? campaign?.includesPush ?? true,
      inapp: body.includes_inapp ?? campaign?.includesInapp ?? false,
    },
  };
}

function variantOf(campaign: Parameters<typeof findVariant>[0] | null, asked: string) {
  return campaign ? findVariant(campaign, asked) : refuseField('variant', 'needs campaign');
}

function showPush({ message, code, sizes }: NonNullable<MessagePreview['push']>) {
  const { title = null, subtitle = null, body = null, deepLink = null, attachmentUrl = null } = message ?? {};
  return {
    code,
    title,
    subtitle,
    body,
    deep_linking_url: deepLink,
    attachment_url: attachmentUrl,
    category: message?.category ?? null,
    sound: message?.sound ?? null,
    parameters: { ...message?.parameters },
    platforms: message === null ? [] : sizes.map((size) => showPlatform(message, size)),
  };
}

function showPlatform(message: PushContent, { platform, bytes, maxBytes }: PlatformSize) {
  const most = cutAtOf(platform, message);
  const title = message.title === null ? null : shownText(message.title, most.title);
  const subtitle = message.subtitle === null || platform !== 'ios' ? null : shownText(message.subtitle, most.title);
  const body = shownText(message.body, most.body);
  return {
    platform,
    title: title?.text ?? null,
    subtitle: subtitle?.text ?? null,
    body: body.text,
    is_cut: [title, subtitle, body].some((text) => text?.isCut === true),
    cut_at: most,
    bytes,
    max_bytes: maxBytes,
  };
}

function showInapp({ message, code, bytes }: NonNullable<MessagePreview['inapp']>) {
  const shown: Partial<InappContent> = message ?? {};
  return {
    code,
    kind: shown.kind ?? null,
    title: shown.title ?? null,
    content: shown.content ?? null,
    button: shown.button ?? null,
    content_url: shown.contentUrl ?? null,
    content_title: shown.contentTitle ?? null,
    auto_display: shown.autoDisplay ?? false,
    deep_linking_url: shown.deepLink ?? null,
    parameters: { ...shown.parameters },
    bytes,
    max_bytes: MAX_INAPP_BYTES,
  };
}

const PICTURE_MS = 10_000;
const NO_PICTURE =
  'must lead to a PNG, JPEG, GIF or WebP of at most 2 MB, at a public address that answers at the usual port without ' +
  'credentials: no picture came from it';

const picture = route(api.viewPicture, async ({ query: { address }, caller: { entityId }, log }, deps) => {
  deps.pictureRates.take(String(entityId));
  const fetched = await deps.connectorCalls.run(
    { entityId, withinMs: PICTURE_MS, log, secretSettings: {} },
    async ({ fetch, signal }) =>
      readPicture(
        await fetch.request(address, {
          signal,
          headers: { accept: 'image/*' },
          mayAsk: (url) => isUsualPort(url, deps.outside.allow),
        }),
      ),
  );
  // One refusal for all reasons: it must not say what is at an address.
  if (!fetched.ok || fetched.value === null) return refuseField('address', NO_PICTURE);
  const { bytes, type } = fetched.value;
  return new Reply(bytes, 200, { 'content-type': type, 'cache-control': 'private, max-age=300' });
});

/** Other ports than the usual ones are reached at addresses alone that the operator allows. */
function isUsualPort(
  { port, hostname }: URL,
  allow: { allows(host: string, port: number, address: string): boolean },
): boolean {
  return port === '' || allow.allows(hostname, Number(port), hostname);
}

/** Reads a picture; null if it is too large, or no picture of a kind that cannot run scripts. */
async function readPicture({ body, end }: GuardedAnswer): Promise<{ bytes: Buffer; type: string } | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.length;
    if (size > api.MAX_PICTURE_BYTES) {
      await end();
      return null;
    }
  }
  const bytes = Buffer.concat(pieces);
  const type = pictureType(bytes);
  return type === null ? null : { bytes, type };
}

/** Returns the type by the first bytes: what a server says of itself does not count. */
function pictureType(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  return /^RIFF.{4}WEBP/s.test(start) ? 'image/webp' : null;
}

export const campaignPreviewRoutes: Route[] = [preview, picture];
