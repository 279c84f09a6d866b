import type { AttemptCode } from '../../domain/sends/attempt-code.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Database } from '../core/database.ts';

/** An attempt as a campaign log has it. */
type LoggedAttempt = Row<
  'attempts',
  | 'id'
  | 'variant'
  | 'userId'
  | 'deviceId'
  | 'channel'
  | 'createdAt'
  | 'settledAt'
  | 'details'
  | 'deliveredAt'
  | 'openedAt'
  | 'shownAt'
  | 'clickedAt',
  { code: AttemptCode }
> & { campaignIdentifier: string; campaignName: string; sendIdentifier: string | null };

const PORTION = 1_000;

/**
 * Attempts of an app that were made from `from` to `till`, both included, by campaign, then oldest first. Drafts have
 * none, and the copies that tests send, which are never launched, are left out. By campaigns_by_app, then along the
 * primary key of each campaign's attempts, of which 30 days are kept; between portions no transaction is open.
 */
export async function* listCampaignLog(
  db: Database,
  entityId: number,
  { appId, from, till }: { appId: number; from: Date; till: Date },
): AsyncGenerator<LoggedAttempt[]> {
  const { rows: campaigns } = await db.query<Row<'campaigns', 'id'>>(
    'SELECT id FROM campaigns WHERE entity_id = $1 AND app_id = $2 AND launched_at IS NOT NULL ORDER BY id',
    [entityId, appId],
  );
  for (const { id: campaignId } of campaigns) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const portion: LoggedAttempt[] = readRows<LoggedAttempt>(
        await db.query(
          `SELECT a.id, c.identifier AS campaign_identifier, c.name AS campaign_name, a.variant, s.identifier AS send_identifier, a.user_id,
           a.device_id, a.channel, a.created_at, a.settled_at, a.code, a.details, a.delivered_at, a.opened_at, a.shown_at, a.clicked_at
         FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
         LEFT JOIN sends s ON s.entity_id = a.entity_id AND s.id = a.send_id AND s.campaign_id IS NULL
         WHERE a.entity_id = $1 AND a.campaign_id = $2 AND a.id > $3 AND a.created_at BETWEEN $4 AND $5
         ORDER BY a.id LIMIT ${PORTION}`,
          [entityId, campaignId, after, from, till],
        ),
      );
      if (portion.length > 0) yield portion;
      after = portion.length < PORTION ? undefined : portion.at(-1)!.id;
    }
  }
}
