import * as api from '../../api/files/profile-files.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { findProfileSelection } from '../attributes/profile-selection.ts';
import type { Route } from '../http/route.ts';
import { fileRoutes } from './file-routes.ts';

export const profileFileRoutes: Route[] = fileRoutes(
  [api.exportCustomerProfiles, api.exportCustomerProfilesAs],
  async ({ query, caller: { entityId } }, { db, secrets }) => {
    const { sors } = await findProfileSelection(db, entityId, query);
    const { customer_ids: ids, customer_id_type: type } = query;
    const people = ids?.flatMap((id) =>
      (type ? [type] : CUSTOMER_TYPES).map((each) => secrets.customerHash(entityId, each, id)),
    );
    return {
      kind: 'customer_profiles',
      query: {
        sors: sors
          .filter(({ attributes }) => attributes.length > 0)
          .map(({ name, attributes }) => ({
            id: attributes[0]!.sorId,
            identifier: name,
            attributes: attributes.map(({ id, identifier, key }) => ({ id, identifier, key })),
          })),
        customerType: type ?? null,
        customerIds: ids ?? null,
        since: query.updated_since?.toISOString() ?? null,
      },
      audits: people?.map((customerHash) => ({ subjectKind: 'customer' as const, customerHash })) ?? [
        { subjectKind: 'customer', details: { what: 'customer_profiles' } },
      ],
    };
  },
);
