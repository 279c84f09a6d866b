/** The members of `enable` in the login answer, in the reference's order (Authentication, 2). */
export const RIGHTS = [
  'apps',
  'campaign_view',
  'campaign_draft',
  'campaign_publish',
  'inapp_library_manage',
  'transactional_campaigns',
  'ab_testing',
  'dynamic_campaigns',
  'web_inbox',
  'comments',
  'downloads',
  'usage_analytics_view',
  'usage_analytics_manage',
  'crashes_view',
  'crashes_manage',
  'funnels_view',
  'funnels_manage',
  'segments_view',
  'segments_manage',
  'sor_manage',
  'apps_manage',
  'api_keys_manage',
  'push_certificates_manage',
  'gdpr_data_manage',
] as const;

export type Right = (typeof RIGHTS)[number];

/** Returns the rights after these flags are set, in the order of RIGHTS. A missing flag changes nothing. */
export function withFlags(rights: readonly Right[], flags: Partial<Record<Right, boolean>>): Right[] {
  return RIGHTS.filter((right) => flags[right] ?? rights.includes(right));
}
