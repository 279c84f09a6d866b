/** Previews of campaigns' messages, and the pictures in them. */

import { z } from 'zod';
import { PUSH_PLATFORMS } from '../../domain/sends/push.ts';
import { bodyFlag, customerId, identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { templateVars } from '../sends/transactional.ts';
import { messageParams, variantParams } from './campaigns.ts';

const SHARED = { tag: 'Campaigns' } as const;

const shownText = z.string().nullable();
const parameters = z.record(z.string(), z.string());
const code = z
  .enum(['MISSING_TEMPLATE_PARAMS', 'MESSAGE_TO_BIG'])
  .nullable()
  .describe('Why it would not be sent; null: it would');

const Shown = z.object({
  platform: z.enum(PUSH_PLATFORMS),
  title: shownText.describe('As the device shows it, with … where it is cut'),
  subtitle: shownText.describe('Shown by iOS alone'),
  body: z.string(),
  is_cut: z.boolean(),
  cut_at: z
    .object({ title: z.int(), body: z.int() })
    .describe('About as many characters as devices of the platform show. Devices differ'),
  bytes: z.int().describe("As the platform's own provider counts them"),
  max_bytes: z.int(),
});

const PushPreview = z.object({
  code,
  title: shownText,
  subtitle: shownText,
  body: shownText,
  deep_linking_url: shownText,
  attachment_url: shownText,
  category: shownText,
  sound: shownText,
  parameters,
  platforms: z.array(Shown).describe('Empty without a message'),
});

const InappPreview = z.object({
  code,
  kind: z.enum(['native', 'url']).nullable(),
  title: shownText,
  content: shownText,
  button: shownText,
  content_url: shownText,
  content_title: shownText,
  auto_display: z.boolean(),
  deep_linking_url: shownText,
  parameters,
  bytes: z.int(),
  max_bytes: z.int(),
});

export const CampaignPreview = z
  .object({
    values: z
      .array(
        z.object({
          name: z.string(),
          text: z.string(),
          source: z
            .enum(['given', 'profile', 'default', 'sample'])
            .describe('`sample`: no value is known and there is no default, so the preview shows the name'),
        }),
      )
      .describe('The placeholders, and what the preview shows for them'),
    problems: z
      .array(z.object({ element: z.string(), message: z.string() }))
      .describe('Names in the texts that a draft could not have'),
    push: PushPreview.nullable(),
    inapp: InappPreview.nullable(),
  })
  .meta({ id: 'CampaignPreview' });
export type CampaignPreview = z.output<typeof CampaignPreview>;

export const previewCampaign = operation({
  ...SHARED,
  id: 'previewCampaign',
  method: 'POST',
  path: '/api/campaigns/preview',
  right: 'campaign_view',
  rightsByField: { user: 'sor_manage' },
  exactNumbers: true,
  idempotencyKey: 'ignored',
  audits: 'read customer',
  summary: 'Preview the messages of a campaign, or of fields that are not saved yet',
  description:
    'It sends and saves nothing. With `user`, the texts have that person’s values, and the audit log gets an entry. Otherwise a ' +
    'placeholder without value and default shows its name.',
  body: z.object({
    campaign: identifier.optional().describe('A campaign; the fields below replace its own'),
    variant: text().optional().describe('Name or identifier of one of its variants'),
    includes_push: bodyFlag.optional().describe("By default the campaign's; without one true"),
    includes_inapp: bodyFlag.optional().describe("By default the campaign's; without one false"),
    params: messageParams.optional().describe('As of a draft. Required without campaign'),
    variant_params: variantParams.optional().describe('Params that differ in a variant'),
    templateVars: templateVars.optional().describe('Values of placeholders'),
    user: customerId.optional().describe('Id of the user whose values the texts show'),
  }),
  result: CampaignPreview,
});

export const MAX_PICTURE_BYTES = 2 * 1024 ** 2;
export const PICTURES_PER_MINUTE = 30;

export const viewPicture = operation({
  ...SHARED,
  id: 'viewPicture',
  method: 'GET',
  path: '/api/campaigns/picture',
  right: 'campaign_draft',
  summary: 'Show a picture of an outside address, for a preview',
  description:
    `A PNG, JPEG, GIF or WebP of at most 2 MB at a public address. An entity can fetch ${PICTURES_PER_MINUTE} a minute. The ` +
    'refusal is the same whatever the reason: this is no way to look at addresses.',
  query: z.object({ address: text({ max: 2_048 }).describe('http or https') }),
  contentType: 'image/*',
});
