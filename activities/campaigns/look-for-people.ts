/** A look at the audience of a dynamic campaign: finds its people, and writes those to be notified. */

import { zonesOfDevices } from '../../domain/campaigns/local-time.ts';
import {
  isNotified,
  LOOK_EVERY_MS,
  nextLookIn,
  scheduleOf,
  type SendWindow,
} from '../../domain/campaigns/send-plan.ts';
import { listErasedPeople } from '../../store/analytics/segment-members.ts';
import type { SegmentQuery } from '../../store/analytics/segment-sql.ts';
import { type AudienceDevice, audienceLine, findAudience, insertAudience } from '../../store/campaigns/audience.ts';
import {
  type CampaignMember,
  listMembers,
  updateLeft,
  updateLookedAt,
  upsertMembers,
} from '../../store/campaigns/campaign-members.ts';
import type { Campaign } from '../../store/campaigns/campaigns.ts';
import type { Tx } from '../../store/core/database.ts';
import type { Send } from '../../store/sends/sends.ts';
import type { Dependencies } from '../dependencies.ts';

/** Number of people compared in a transaction. */
const PORTION = 10_000;

/** A run of a campaign to an audience. */
export type Run = { send: Send; campaign: Campaign };

/** Runs work in a transaction that locks the run. Throws `JobGone` if another step has it. */
export type WhileOurs = <R>(work: (tx: Tx) => Promise<R>) => Promise<R>;

/** Returns when a dynamic campaign looks at its audience next: at its end if nothing is left to look for. */
export function findNextLook({ send, campaign }: Run, zones: readonly string[], now: Date, soonest = now): Date {
  const clock = { launchedAt: campaign.launchedAt!, lookedAt: send.lookedAt, now };
  return nextLookIn(scheduleOf(campaign), zones, clock, { soonest, end: campaign.endDate! });
}

type Look = Run & { zones: readonly string[]; windows: ReadonlyMap<string, SendWindow>; now: Date };

/** A person of the audience, with their devices whose window is open. */
type Person = { person: string; window: SendWindow | null; devices: string[] };

/** Finds the audience's people and writes those to be notified with their devices; a repeat notifies none twice. */
export async function lookForPeople(
  deps: Dependencies,
  look: Look,
  query: SegmentQuery,
  whileOurs: WhileOurs,
): Promise<void> {
  const { send, now } = look;
  let after: string | null = null;
  const compare = async (people: readonly Person[], upTo: string | null) => {
    deps.draining.throwIfAborted();
    await whileOurs(async (tx) => {
      await comparePortion(deps, tx, look, people);
      deps.boundary('campaign: before a portion commits');
    });
    const names = people.map(({ person }) => person);
    const left = { after, upTo, limit: PORTION };
    while ((await whileOurs((tx) => updateLeft(tx, send.entityId, send.id, names, left))) === PORTION);
    deps.boundary('campaign: after a portion committed');
    after = upTo;
  };
  let portion: Person[] = [];
  for await (const person of peopleOf(look, findAudience(deps.db, send.entityId, query))) {
    portion.push(person);
    if (portion.length < PORTION) continue;
    await compare(portion, person.person);
    portion = [];
  }
  await compare(portion, null);
  // The campaign sends between two looks, however long this one took.
  const endedAt = new Date();
  const soonest = new Date(endedAt.getTime() + LOOK_EVERY_MS);
  const next = findNextLook(
    { campaign: look.campaign, send: { ...send, lookedAt: now } },
    look.zones,
    endedAt,
    soonest,
  );
  await whileOurs((tx) => updateLookedAt(tx, send.entityId, send.id, { at: now, next }));
  deps.boundary('campaign: looked');
}

/** Groups devices by person; a person's rows follow each other. */
async function* peopleOf({ campaign, windows }: Look, devices: AsyncIterable<AudienceDevice>): AsyncGenerator<Person> {
  let last = null as Person | null;
  const zoneFor = zonesOfDevices(campaign.appTimezone);
  for await (const { person, device_id: device, timezone, utc_offset: utcOffsetMinutes } of devices) {
    if (last?.person !== person) {
      if (last) yield last;
      last = { person, window: null, devices: [] };
    }
    const zone = campaign.adaptTz ? zoneFor({ timezone, utcOffsetMinutes }) : campaign.appTimezone;
    const window = windows.get(zone);
    if (!window) continue;
    last.window ??= window;
    last.devices.push(device);
  }
  if (last) yield last;
}

async function comparePortion(
  { secrets }: Dependencies,
  tx: Tx,
  { send, campaign, now }: Look,
  people: readonly Person[],
): Promise<void> {
  const { entityId, id } = send;
  const names = people.map(({ person }) => person);
  const erased = await listErasedPeople(
    tx,
    secrets,
    entityId,
    people.flatMap(({ person, devices }) => [person, ...devices.map((deviceId) => `d${deviceId}`)]),
  );
  const known = await listMembers(tx, entityId, id, names);
  const changed: CampaignMember[] = [];
  const lines: string[] = [];
  for (const { person, window, devices: found } of people) {
    const before = known.get(person) ?? null;
    const devices = found.filter((deviceId) => !erased.has(`d${deviceId}`));
    if (window === null || devices.length === 0 || erased.has(person)) continue;
    const member = before ?? { person, isMember: false, notified: 0, lastNotifiedAt: null, lastWindow: null };
    // At an exact time the window's own time counts: otherwise two days would be slightly less than 24 hours apart now
    // and then.
    const at = window.until === null ? window.from : now;
    if (isNotified(before, window, campaign.notifLimit!, at)) {
      changed.push({
        person,
        isMember: true,
        notified: member.notified + 1,
        lastNotifiedAt: at,
        lastWindow: window.from,
      });
      lines.push(
        ...devices.map((deviceId) => audienceLine(entityId, id, { dueAt: now.toISOString(), person, deviceId })),
      );
    } else if (!member.isMember) changed.push({ ...member, isMember: true });
  }
  await upsertMembers(tx, entityId, id, changed);
  if (lines.length > 0) await insertAudience(tx, lines.join(''));
}
