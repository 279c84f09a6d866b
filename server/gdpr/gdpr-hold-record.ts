import type * as api from '../../api/gdpr/gdpr-holds.ts';
import type { GdprHold } from '../../store/gdpr/holds.ts';

export function showHold(hold: GdprHold): api.GdprHold {
  const { identifier, customerType, customerId, kind, reason, createdBy, createdAt } = hold;
  return {
    identifier, user_id: customerType === 'user_id' ? customerId : null, device_id: customerType === 'device_id' ? customerId : null,
    kind, reason, created_by: createdBy?.uid ?? null, created_at: createdAt.toISOString(),
  };
}
