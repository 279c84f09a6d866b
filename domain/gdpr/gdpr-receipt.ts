/** The schema of signed receipts: what an access request showed, or a deletion erased. */
import { z } from 'zod';
import { documentSignature } from '../core/document-signature.ts';

const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();

/**
 * A person: a keyed hash, which only the issuing server can compute, and how many ids the person had, by kind and by
 * whose word. `left_alone`: ids that stay, though claims link them. Older receipts have neither of the last two.
 */
const subject = z.object({
  subject: sha256,
  identifiers: z.object({ user_id: count, device_id: count, push_token: count }),
  origins: z.object({ asked: count, alias: count, confirmed: count, device: count }).optional(),
  left_alone: z
    .array(
      z.object({
        kind: z.enum(['user_id', 'device_id']),
        subject: sha256,
        reason: z.enum(['unconfirmed', 'shared', 'too_many']),
      }),
    )
    .optional(),
});

/** A copy outside Millrace. `notified`: a deletion list lies there; `elsewhere`: delete the people in that system. */
const copy = z.object({
  kind: z.enum(['exporter', 'sync']),
  id: z.string(),
  state: z.enum(['notified', 'not_notified', 'elsewhere']),
  /** The key of the list in the bucket. */
  list: z.string().nullable(),
  at: instant.nullable(),
  reason: z.string().nullable(),
});

/**
 * Values of filters that equal an id and stayed, files of `outbox/` that are no mails, and holds on others whose reason
 * names one of the people. `key`: null if it holds an id itself.
 */
const keptValue = z.object({
  place: z.enum(['segments', 'campaigns', 'funnels', 'outbox/', 'gdpr_holds']),
  object: z.string(),
  on: z.enum(['attributes', 'devices', 'details', 'file', 'reason']),
  key: z.string().nullable(),
  values: count,
});
export type KeptValue = z.infer<typeof keptValue>;

const shared = {
  version: z.literal(1),
  receipt: z.string(),
  entity: z.string(),
  request: z.string(),
  /** From 1: people on hold come in a later round than the others. */
  round: z.int().positive(),
  source: z.enum(['api', 'sdk', 'restore']),
  requested_at: instant,
  /** `id`: a user's uid or a service token's identifier. */
  requested_by: z.object({ kind: z.enum(['user', 'service_token', 'device', 'system']), id: z.string().nullable() }),
  issued_at: instant,
  subjects: z.array(subject),
};

const erasure = z.object({
  ...shared,
  type: z.literal('erasure'),
  /** From then on Millrace refused these people's data. */
  tombstones_at: instant,
  places: z.array(z.object({ place: z.string(), erased: count, survivors: count })),
  copies: z.array(copy),
  /** Data that stays, and why. */
  kept: z.array(z.object({ place: z.string(), why: z.string(), until: z.string().nullable() })),
  /** Older receipts have none. */
  kept_values: z.array(keptValue).optional(),
});

const access = z.object({
  ...shared,
  type: z.literal('access'),
  places: z.array(z.object({ place: z.string(), shown: count })),
  archives: z.array(z.object({ sha256, bytes: count })),
});

/** A signed receipt: what was erased, or shown. It names no person. Unknown members are dropped. */
export const receiptSchema = z.discriminatedUnion('type', [
  erasure.extend({ signature: documentSignature }),
  access.extend({ signature: documentSignature }),
]);

export type GdprReceipt = z.infer<typeof receiptSchema>;
export type ReceiptCopy = z.infer<typeof copy>;
export type UnsignedReceipt = UnsignedErasure | UnsignedAccess;
type UnsignedErasure = z.infer<typeof erasure>;
type UnsignedAccess = z.infer<typeof access>;

type Filled = 'version' | 'receipt' | 'entity' | 'issued_at';
/** A receipt before it is numbered, dated and signed. */
export type NewReceipt = Omit<UnsignedErasure, Filled> | Omit<UnsignedAccess, Filled>;
