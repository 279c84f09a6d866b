export const APP_TYPES = ['iOS App', 'Android App', 'Web App'] as const;
export type AppType = (typeof APP_TYPES)[number];

export const MAX_TOKEN_KEYS = 2;
