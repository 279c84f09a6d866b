import type { CampaignAudience } from '../../../api/campaigns/campaign-audience.ts';
import type { CampaignResults } from '../../../api/campaigns/campaign-results.ts';
import {
  about,
  type Answer,
  type Call,
  call,
  cancel,
  type Draw,
  type LifeOperation,
  type LifeOperations,
  make,
  mustHold,
  read,
  remove,
} from '../life-operation.ts';
import { PEOPLE } from '../people.ts';
import { drawFilters } from './analytics.ts';

/** Campaigns and transactional messages, through the sandbox. */

export function campaignBody({ entity }: Pick<Draw, 'entity'>, name: string, others: Record<string, unknown> = {}) {
  return {
    name,
    type: 'transactional',
    source: 'API',
    app_id: entity.app.identifier,
    includes_push: true,
    includes_inapp: false,
    start_date: 'now',
    params: { push_title: 'Shop', push_message: 'Hello *@name|there@*, order *@order@* leaves' },
    ...others,
  };
}

/** A value of the recipient's profile, such as their own id. */
function profileValue(draw: Draw): string {
  return `*@sor:${draw.entity.sor.identifier}.${draw.of(['plan', 'contact'])}|there@*`;
}

function drawCampaign(draw: Draw) {
  const name = draw.name('Campaign');
  const params = { push_title: 'Shop', push_message: 'News' };
  return draw.of([
    () => campaignBody(draw, name),
    () => campaignBody(draw, name, { type: 'classic', params }),
    () => campaignBody(draw, name, { type: 'classic', params, filters: drawFilters(draw) }),
    () => campaignBody(draw, name, { type: 'classic', params: { push_message: `Hello ${profileValue(draw)}` } }),
    () =>
      campaignBody(draw, name, {
        type: 'classic',
        includes_inapp: true,
        adapt_tz: true,
        params: { ...params, inapp: 'native', message_title: 'Shop', message_content: 'News', message_btn: 'Ok' },
        variants: [
          { name: 'A', share: 50 },
          { name: 'B', share: 50, params: { push_title: 'B' } },
        ],
      }),
  ])();
}

const made = { kind: 'campaign', id: ({ campaign_id: id }: { campaign_id: string }) => id };

function noteSend({ result }: Answer, { entity }: Draw): void {
  entity.add('send', { id: (result as { requestId: string }).requestId });
}

type SendState = {
  requestId: string;
  state: string;
  messages: number;
  processed: number;
  sent: Record<'sent' | 'confirmed' | 'taken' | 'unknown' | 'refused', number>;
};

const sending: LifeOperation = {
  call: (draw) => ({
    body: {
      campaignKey: [draw.item('transactional').id],
      messages: draw
        .some(PEOPLE, 4)
        .map((person) => ({ user: person.userId, templateVars: { order: draw.int(1_000), name: draw.value(person) } })),
      ...(draw.chance(0.2) ? { sendAt: new Date(Date.now() + draw.int(40_000)).toISOString() } : {}),
      ...(draw.chance(0.2) ? { requestKey: draw.name('key') } : {}),
    },
  }),
  done: noteSend,
};

function checkBalance({ requestId, sent }: SendState): void {
  const { confirmed, taken, unknown, refused } = sent;
  mustHold(
    sent.sent === confirmed + taken + unknown + refused,
    `send ${requestId}: ${sent.sent} pushes left, of which ${confirmed + taken + unknown + refused} have an outcome`,
  );
}

function checkSend({ result }: Answer, _draw: Draw, { item }: Call): void {
  const { state, messages, processed } = result as SendState;
  checkBalance(result as SendState);
  mustHold(processed <= messages, `send ${item!.id}: ${processed} of ${messages} messages have results`);
  mustHold(
    state !== 'finished' || processed === messages,
    `send ${item!.id} is finished: ${processed} of ${messages} messages have results`,
  );
}

function checkAudience({ result }: Answer, _draw: Draw, { item }: Call): void {
  const { people, recipients, push, in_app_only: inApp, held_back: heldBack, reasons } = result as CampaignAudience;
  const sum = reasons.reduce((total, reason) => total + reason.people, 0);
  mustHold(
    people === recipients + heldBack && recipients === push + inApp && heldBack === sum,
    `campaign ${item!.id}: its audience does not add up: ${JSON.stringify(result)}`,
  );
}

function checkResults({ result }: Answer, _draw: Draw, { item }: Call): void {
  const { total, codes } = result as CampaignResults;
  const sent = total.confirmed + total.taken + total.unknown + total.refused;
  const all = total.sent + total.waiting + total.in_app_only + total.not_sent;
  const byCode = codes.reduce((sum, { messages }) => sum + messages, 0);
  mustHold(
    total.sent === sent && total.messages === all && total.messages === byCode,
    `campaign ${item!.id}: its results do not add up: ${JSON.stringify(result)}`,
  );
}

export const sendOperations: LifeOperations = {
  viewCampaign: read('campaign'),
  createCampaign: { ...make(made, (draw) => ({ body: drawCampaign(draw) })), weight: 2 },
  duplicateCampaign: make(made, (draw) => ({
    params: { campaign_identifier: draw.item('campaign').id },
    body: { name: draw.name('Copy') },
  })),
  updateCampaign: about('campaign', (draw) => ({ body: campaignBody(draw, draw.name('Changed')) })),
  deleteCampaign: remove('campaign'),
  launchCampaign: { ...about('campaign'), weight: 3 },
  cancelCampaign: { call: (draw) => ({ item: draw.spare('campaign') }), weight: 0.5 },
  planCampaign: about('campaign'),
  previewCampaign: call((draw) => ({
    body: {
      campaign: draw.item('campaign').id,
      variant_params: { push_title: profileValue(draw) },
      ...(draw.chance(0.5) && { user: draw.person().userId }),
    },
  })),
  viewPicture: call(() => ({ query: { address: 'http://127.0.0.1:9/none.png' } })),
  countCampaignAudience: { ...about('campaign'), done: checkAudience },
  viewCampaignResults: { ...about('campaign'), weight: 2, done: checkResults },
  listCampaignTests: about('campaign'),
  testCampaign: {
    ...about('transactional', (draw) => ({
      body: { users: [draw.person().userId], templateVars: { order: 1, name: draw.value(draw.person()) } },
    })),
    done({ result }, { entity }) {
      entity.add('test', { id: (result as { requestId: string }).requestId });
    },
  },
  viewCampaignTest: about('test'),
  sendMessages: { ...sending, weight: 5 },
  sendPushMessages: sending,
  viewSend: { ...about('send'), weight: 4, done: checkSend },
  cancelSend: cancel('send'),
  listSendDecisions: about('send', (draw) => ({ query: draw.chance(0.3) ? { code: 'PUSH_SENT', per_page: 1 } : {} })),
  listCampaignSends: {
    ...about('transactional', () => ({ query: { per_page: 5 } })),
    done({ result }) {
      for (const send of (result as { items: SendState[] }).items) checkBalance(send);
    },
  },
  explainDelivery: call((draw) => ({
    body: { user_id: draw.person().userId, campaign_id: draw.item(draw.of(['transactional', 'campaign'])).id },
  })),
  reportMessages: about('transactional', () => ({ query: { page: 1, page_size: 100 } })),
  explainMessages: call((draw) => ({
    params: { identifier: draw.item('transactional').id },
    query: { user: draw.person().userId },
  })),
};
