import { z } from 'zod';
import { HOLD_KINDS } from '../../domain/gdpr/gdpr-codes.ts';
import type { GdprHold } from '../../store/gdpr/holds.ts';

/** A hold as it is shown (docs/gdpr.md). */
export const HoldRecord = z.object({
  identifier: z.string(),
  user_id: z.string().nullable(),
  device_id: z.string().nullable(),
  kind: z.enum(HOLD_KINDS),
  reason: z.string(),
  created_by: z.string().nullable().describe('The uid of a user; null once their account is gone'),
  created_at: z.iso.datetime(),
});

export function showHold(hold: GdprHold): z.input<typeof HoldRecord> {
  const { identifier, customerType, customerId, kind, reason, createdBy, createdAt } = hold;
  return {
    identifier, user_id: customerType === 'user_id' ? customerId : null, device_id: customerType === 'device_id' ? customerId : null,
    kind, reason, created_by: createdBy?.uid ?? null, created_at: createdAt.toISOString(),
  };
}
