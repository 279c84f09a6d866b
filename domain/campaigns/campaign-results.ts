/** The results of a campaign as numbers that add up: each message is in one group, whatever its code. */

import { ATTEMPT_CODES, type AttemptCode } from '../sends/attempt.ts';

/** The longest period of results. */
export const MAX_RESULT_DAYS = 366;

/** The groups of messages: the first four are sent. */
export const RESULT_GROUPS = [
  'confirmed',
  'taken',
  'unknown',
  'refused',
  'waiting',
  'in_app_only',
  'not_sent',
] as const;
type ResultGroup = (typeof RESULT_GROUPS)[number];

/** Messages of one code. `delivered`: confirmed by the device; `inapp`: the device got the in-app message. */
export type CountedCode = {
  code: AttemptCode;
  messages: number;
  delivered: number;
  opened: number;
  inapp: number;
  shown: number;
  clicked: number;
};

type ResultCounts = Record<ResultGroup, number> & {
  messages: number;
  sent: number;
  opened: number;
  in_app: number;
  shown: number;
  clicked: number;
};

/** Codes of pushes that left, by their group unless the device confirmed them. */
const SENT: Partial<Record<AttemptCode, ResultGroup>> = {
  PUSH_SENT: 'taken',
  UNKNOWN: 'unknown',
  REFUSED: 'refused',
};

/** Returns how many messages of a code are in each group. They add up to its messages. */
function groupsOf({ code, messages, delivered, inapp }: CountedCode): Partial<Record<ResultGroup, number>> {
  if (code === 'PENDING') return { waiting: messages };
  const sent = SENT[code];
  if (sent === undefined) return { in_app_only: inapp, not_sent: messages - inapp };
  // A device can confirm a push whose provider gave no answer, never one that it refused.
  return sent === 'refused' ? { refused: messages } : { confirmed: delivered, [sent]: messages - delivered };
}

/** Adds up codes: messages = sent + waiting + in_app_only + not_sent, sent = confirmed + taken + unknown + refused. */
export function resultsOf(codes: readonly CountedCode[]): ResultCounts {
  const groups = Object.fromEntries(RESULT_GROUPS.map((group) => [group, 0])) as Record<ResultGroup, number>;
  const sum = { opened: 0, in_app: 0, shown: 0, clicked: 0 };
  for (const counted of codes) {
    for (const [group, messages] of Object.entries(groupsOf(counted))) groups[group as ResultGroup] += messages;
    sum.opened += counted.opened;
    sum.in_app += counted.inapp;
    sum.shown += counted.shown;
    sum.clicked += counted.clicked;
  }
  const sent = groups.confirmed + groups.taken + groups.unknown + groups.refused;
  const messages = sent + groups.waiting + groups.in_app_only + groups.not_sent;
  return { messages, sent, ...groups, ...sum };
}

/** Messages of a code with the same details, which belong to a group. */
type GroupedCode = { group: ResultGroup; code: AttemptCode; reason: string; details: string | null; messages: number };

/** Returns the messages of each code by group, the largest first. Together they have as many as `resultsOf` counts. */
export function codesByGroup(codes: readonly (CountedCode & { details: string | null })[]): GroupedCode[] {
  return codes
    .flatMap((counted) =>
      Object.entries(groupsOf(counted))
        .filter(([, messages]) => messages > 0)
        .map(([group, messages]) => ({
          group: group as ResultGroup,
          code: counted.code,
          reason: ATTEMPT_CODES[counted.code],
          details: counted.details,
          messages,
        })),
    )
    .toSorted(
      (one, other) =>
        RESULT_GROUPS.indexOf(one.group) - RESULT_GROUPS.indexOf(other.group) || other.messages - one.messages,
    );
}
