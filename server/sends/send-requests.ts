/** The routes of a campaign's requests, and of what became of each message of one. */

import * as api from '../../api/sends/send-requests.ts';
import type { SendState } from '../../api/sends/transactional.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES, sentBalance } from '../../domain/sends/attempt.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import { type Queryable, read, write } from '../../store/core/database.ts';
import { countCodes, listSentDecisions, type SentDecision } from '../../store/sends/reports.ts';
import {
  countMessagesLeftOf,
  findSend,
  listCampaignsOfSends,
  listSendsOfCampaign,
  type Send,
} from '../../store/sends/sends.ts';
import { HEAVY_READ_MS } from '../analytics/heavy-reads.ts';
import { audit } from '../http/audit.ts';
import { cursorPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { findInternalErrors } from '../jobs/show-internal-error.ts';

/** Shows sends of one entity with their counts. */
export async function showSends(db: Queryable, entityId: number, sends: readonly Send[]): Promise<SendState[]> {
  const ids = sends.map(({ id }) => id);
  // Read before the codes, which then cover at least as many messages.
  const left = await countMessagesLeftOf(db, entityId, ids);
  const codesOf = await countCodes(db, entityId, ids);
  const campaigns = Map.groupBy(await listCampaignsOfSends(db, entityId, ids), ({ sendId }) => sendId);
  const names = sends.map(({ identifier }) => identifier);
  const errorOf = await findInternalErrors(db, 'send', entityId, names);
  return sends.map(({ id, identifier, state, messageCount, receivedAt, sendAt, endedAt }) => {
    const { counts, nextAt } = codesOf(id);
    return {
      requestId: identifier,
      state,
      messages: messageCount,
      processed: messageCount - (left.get(id) ?? 0),
      codes: Object.fromEntries(Object.entries(counts).map(([code, { count }]) => [code, count])),
      sent: sentBalance(counts),
      campaigns: (campaigns.get(id) ?? []).map(({ identifier: campaign, name, appIdentifier }) => ({
        campaign_id: campaign,
        name,
        app_id: appIdentifier,
      })),
      received_at: receivedAt.toISOString(),
      send_at: isoOf(sendAt),
      ended_at: isoOf(endedAt),
      next_at: isoOf(nextAt ?? (state === 'accepted' ? sendAt : null)),
      internal_error: errorOf(identifier),
    };
  });
}

const READ_SETTINGS = `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = ${HEAVY_READ_MS}`;

const listRequests = route(
  api.listCampaignSends,
  async ({ params, query, hungUp, caller }, { db, settings, heavyReads }) => {
    const { entityId } = caller;
    const campaign =
      (await findCampaignByKey(db, entityId, params.identifier)) ?? refuse(404, 'not_found', 'Campaign not found');
    const { per_page: limit, cursor } = query;
    const found = await listSendsOfCampaign(db, entityId, campaign.id, cursor?.id ?? null, limit + 1);
    const path = api.listCampaignSends.path.replace(':identifier', campaign.identifier);
    const { rows, next } = cursorPage(
      settings,
      path,
      query,
      found.map((send) => ({ ...send, micros: 0 })),
    );
    // A request may have some hundred thousand attempts.
    const items = await heavyReads.within(caller, hungUp(), (signal) =>
      read(db, (tx) => showSends(tx, entityId, rows), { settings: READ_SETTINGS, signal }),
    );
    return { items, next };
  },
);

const listDecisions = route(api.listSendDecisions, async ({ params, query, ...who }, { db, settings }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const send = (await findSend(tx, entityId, params.request_id)) ?? refuse(404, 'not_found', 'Request not found');
    const { code, outcome, per_page: limit, cursor } = query;
    await audit(tx, who, { action: 'read', subjectKind: 'send', subject: send.identifier });
    const after = { ordinal: cursor?.micros ?? 0, id: cursor?.id ?? 0 };
    const filter = { code, outcome };
    const found = await listSentDecisions(tx, entityId, send.id, filter, { after, limit: limit + 1 });
    const path = api.listSendDecisions.path.replace(':request_id', send.identifier);
    const { rows, next } = cursorPage(
      settings,
      path,
      query,
      found.map((decision) => ({ ...decision, micros: decision.ordinal })),
    );
    return { items: rows.map(showDecision), next };
  });
});

const NOTHING = {
  user: null,
  device_id: null,
  channel: null,
  variant: null,
  details: null,
  at: null,
  due_at: null,
  settled_at: null,
  confirmed: false,
  delivered_at: null,
  opened_at: null,
  shown_at: null,
  clicked_at: null,
};

/** A message of a request names a user, unless that person is erased. */
function showDecision(decision: SentDecision): api.SentDecision {
  const { ordinal, userId, code, campaignIdentifier, deliveredAt, openedAt, shownAt, clickedAt } = decision;
  const ofLine = {
    line: ordinal + 1,
    campaign_id: campaignIdentifier,
    code,
    reason: ATTEMPT_CODES[code],
  };
  if (userId === null) return { ...NOTHING, ...ofLine, erased: true };
  return {
    ...ofLine,
    erased: false,
    user: userId,
    device_id: decision.deviceId,
    channel: decision.channel,
    variant: decision.variant,
    details: decision.details,
    at: decision.createdAt.toISOString(),
    due_at: isoOf(decision.dueAt),
    settled_at: isoOf(decision.settledAt),
    confirmed: [deliveredAt, openedAt, shownAt, clickedAt].some((at) => at !== null),
    delivered_at: isoOf(deliveredAt),
    opened_at: isoOf(openedAt),
    shown_at: isoOf(shownAt),
    clicked_at: isoOf(clickedAt),
  };
}

export const sendRequestRoutes: Route[] = [listRequests, listDecisions];
