/**
 * Settings of an app that decide who receives personal data, or who decides about it. Changing them needs the right
 * `gdpr_data_manage`, as the keys of user tokens do.
 */
export const PRIVACY_SETTINGS = ['gdpr_emails', 'gdpr_approval', 'verified_users', 'outcomes_connection'] as const;
