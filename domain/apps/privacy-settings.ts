/** Settings that decide who receives personal data: changing them needs the right `gdpr_data_manage`. */
export const PRIVACY_SETTINGS = ['gdpr_emails', 'gdpr_approval', 'verified_users', 'outcomes_connection'] as const;
