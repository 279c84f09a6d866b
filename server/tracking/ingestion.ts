import { z } from 'zod';
import { REFUSAL_CODES } from '../../domain/tracking/tracked-call.ts';
import { write } from '../../store/core/database.ts';
import {
  type IngestedDay, listCrashes, listIngestedDays, listRefusedCalls, type StoredRefusal,
} from '../../store/tracking/ingestion-reports.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import { identifier, pageNumber, text } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { placeCursor, writeCursor } from '../http/place-cursor.ts';
import { type Route, route } from '../http/route.ts';

/** What came from the SDKs of an app, read afterwards (docs/tracking.md). */
const SHARED = { tag: 'SDK data', right: 'usage_analytics_view', method: 'GET', params: z.object({ app_identifier: identifier }) } as const;
const PATH = '/api/apps/:app_identifier';

const RefusedCall = z.object({
  received_at: z.iso.datetime(),
  index: z.int().describe('Its place in the batch, from 0'),
  message_id: z.string().nullable(),
  code: z.enum(REFUSAL_CODES),
  message: z.string(),
  call: z.string().nullable().describe('What came, shortened; null of an erased person\'s'),
  of_app: z.boolean().describe('false: its key is shared by several apps, and the call named none'),
});

const listRefused = route({
  ...SHARED,
  path: `${PATH}/refused_calls`,
  summary: 'Read the refused calls of an app, newest first, each with its reason',
  description: 'Kept for 30 days. One that was sent again under its messageId stands once. Reading them is written down.',
  query: z.object({
    code: z.enum(REFUSAL_CODES).optional(),
    message_id: text().optional(),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: placeCursor.optional().describe('As `next` has it'),
  }),
  result: z.object({ refused_calls: z.array(RefusedCall), next: z.string().nullable() }),
  async handle({ params, query: { cursor, ...query }, ...who }, { db, settings }) {
    const { entityId } = who.caller;
    const after = cursor ? { receivedAtMicros: cursor.micros, id: cursor.id } : null;
    const found = await write(db, async (tx) => {
      const app = await requireApp(tx, entityId, params.app_identifier);
      await audit(tx, who, { action: 'read', subjectKind: 'app', subject: app.identifier, details: { what: 'refused_calls' } });
      return listRefusedCalls(tx, entityId, app.id, { code: query.code, messageId: query.message_id }, after, query.per_page + 1);
    });
    const shown = found.slice(0, query.per_page);
    const path = `${settings.publicUrl}/api/apps/${params.app_identifier}/refused_calls`;
    const next = shown.length < found.length ? `${path}?${nextQuery(query, shown.at(-1)!)}` : null;
    return { refused_calls: shown.map(showRefused), next };
  },
});

function nextQuery(query: Record<string, string | number | undefined>, { receivedAtMicros, id }: StoredRefusal): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  parameters.set('cursor', writeCursor(receivedAtMicros, id));
  return parameters;
}

function showRefused({ receivedAt, index, messageId, code, message, raw, isOfApp }: StoredRefusal): z.input<typeof RefusedCall> {
  return { received_at: receivedAt.toISOString(), index, message_id: messageId, code, message, call: raw, of_app: isOfApp };
}

const Day = z.object({
  date: z.iso.date(),
  received: z.int().describe('accepted + duplicates + refused'),
  accepted: z.int(), duplicates: z.int(), refused: z.int(),
  refused_of_no_app: z.int()
    .describe('Calls with a key that several apps share, which named no app; of the whole entity, and not in `received`'),
});

const countCalls = route({
  ...SHARED,
  path: `${PATH}/ingestion`,
  summary: 'Count the calls of an app by UTC day, newest first',
  query: z.object({ days: pageNumber({ min: 1, max: 31, otherwise: 7 }).describe('Today and those before it') }),
  result: z.object({ days: z.array(Day) }),
  async handle({ params, query, caller: { entityId } }, { db }) {
    const app = await requireApp(db, entityId, params.app_identifier);
    return { days: (await listIngestedDays(db, entityId, app.id, query.days)).map(showDay) };
  },
});

function showDay({ date, accepted, duplicates, refused, refusedOfNoApp }: IngestedDay): z.input<typeof Day> {
  return { date, received: accepted + duplicates + refused, accepted, duplicates, refused, refused_of_no_app: refusedOfNoApp };
}

const Crash = z.object({
  identifier: z.string(), title: z.string(), first_seen_at: z.iso.datetime(), last_seen_at: z.iso.datetime(), occurrences: z.int(),
});

const listAppCrashes = route({
  ...SHARED,
  path: `${PATH}/crashes`,
  summary: 'List the crashes of an app, most recently seen first',
  query: z.object(pageQuery),
  result: pageOf(Crash),
  async handle({ params, query, caller: { entityId } }, { db, settings }) {
    const app = await requireApp(db, entityId, params.app_identifier);
    const { total, crashes } = await listCrashes(db, entityId, app.id, rowsOf(query));
    return showPage(settings, `/api/apps/${app.identifier}/crashes`, query, total, crashes.map((crash) => ({
      identifier: crash.identifier, title: crash.title, first_seen_at: crash.firstSeenAt.toISOString(),
      last_seen_at: crash.lastSeenAt.toISOString(), occurrences: crash.occurrences,
    })));
  },
});

export const ingestionRoutes: Route[] = [listRefused, countCalls, listAppCrashes];
