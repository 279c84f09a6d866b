import type * as api from '../../api/accounts/entities.ts';
import type { Entity } from '../../store/accounts/entities.ts';

export function showEntity(entity: Entity): api.Entity {
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
