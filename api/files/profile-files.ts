import { profileListQuery, wrongParam } from '../attributes/customer-profiles.ts';
import { fileExport } from './file-exports.ts';

export const [exportCustomerProfiles, exportCustomerProfilesAs] = fileExport({
  tag: 'Customer profiles',
  id: 'exportCustomerProfiles',
  path: '/api/customer_profiles/export',
  right: 'sor_manage',
  audits: 'export customer',
  summary: 'Export the values of customers',
  query: profileListQuery.omit({ page: true, num_per_page: true, cursor: true }),
  malformedQuery: wrongParam,
});
