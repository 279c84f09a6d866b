import { z } from 'zod';
import type { Entity } from '../../store/accounts/entities.ts';

/** An entity as the login answer shows it (reference: Authentication). */
export const EntityRecord = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string(),
  identifier: z.string(),
  active: z.boolean(),
  qa_api_key: z.string(),
  prod_api_key: z.string(),
  data_retention_in_months: z.int(),
});

export function showEntity(entity: Entity): z.input<typeof EntityRecord> {
  return {
    id: entity.id,
    name: entity.name,
    description: entity.description,
    identifier: entity.identifier,
    active: entity.active,
    qa_api_key: entity.qaApiKey,
    prod_api_key: entity.prodApiKey,
    data_retention_in_months: entity.dataRetentionInMonths,
  };
}
