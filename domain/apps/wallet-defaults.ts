/** Parts that every data wallet has. */

export type Texts = Record<string, string>;

type DefaultCategory = { technicalName: string; title: Texts; description: Texts };
type DefaultElement = { technicalName: string; displayName: string; category: string };

/** The categories of every data wallet, which can't be changed (reference: Data wallet records). */
export const DEFAULT_CATEGORIES: readonly DefaultCategory[] = [
  {
    technicalName: 'usage',
    title: { en: 'Usage' },
    description: { en: 'How the app is used: sessions, events and errors, and the device they come from' },
  },
  {
    technicalName: 'push_notifications',
    title: { en: 'Push notifications' },
    description: { en: 'What is needed to send notifications to a device, and what becomes of them' },
  },
  {
    technicalName: 'user_profile',
    title: { en: 'User profile' },
    description: { en: 'What is known about the user: the id, and attributes such as name and e-mail address' },
  },
  {
    technicalName: 'geolocation',
    title: { en: 'Geolocation' },
    description: { en: 'Where the device was while the app was used' },
  },
];

export const DEFAULT_RECIPIENT: { technicalName: string; displayName: string; elements: readonly DefaultElement[] } = {
  technicalName: 'millrace',
  displayName: 'Millrace',
  elements: [
    { technicalName: 'sessions', displayName: 'Sessions', category: 'usage' },
    { technicalName: 'events', displayName: 'Events', category: 'usage' },
    { technicalName: 'crashes', displayName: 'Crashes', category: 'usage' },
    { technicalName: 'devices', displayName: 'Devices', category: 'usage' },
    { technicalName: 'push_tokens', displayName: 'Push tokens', category: 'push_notifications' },
    { technicalName: 'customer_attributes', displayName: 'Customer attributes', category: 'user_profile' },
    { technicalName: 'locations', displayName: 'Locations', category: 'geolocation' },
  ],
};
