import type { z } from 'zod';
import type * as api from '../../api/attributes/customer-profiles.ts';
import { refuse } from '../../domain/core/refusal.ts';

export type ProfileListQuery = z.output<typeof api.profileListQuery>;

/** `why` goes into the list of messages; `message` has the reference's words. */
export function refuseParam(name: keyof ProfileListQuery, why: string): never {
  const message = `Param ${name} is not valid`;
  return refuse(400, '400', message, {
    messages: [{ element: name, severity: 'error', message: why }],
    errors: [`${name}: ${why}`],
  });
}
