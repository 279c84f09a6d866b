import { APP, APP_NAME, DEVICE, type LocationWords, MATCHES, technical, TEXT_MATCHES, TIME_ZONE, USER } from './location-words.ts';

const CONTEXT = {
  app_version: 'Version of the app', os_version: 'Version of the operating system',
  sdk_version: technical('Version of the library that reports this'),
  device_type: 'Kind of device', device_model: 'Model of the device',
  country: 'Country that the device is set to', lang: 'Language that the device is set to',
};

const SESSION = technical('Use of the app that it belongs to: its number in the list of uses');

/** What apps tell of what people do in them. */
export const APP_WORDS = {
  events: {
    title: 'What happened in apps',
    topic: 'activity',
    about: 'What you did in an app, and what the app noted while you used it.',
    sentences: ['{happened_at}: {log_type} *{name}*[ in {app_name}]', '{happened_at}: {log_type}[ in {app_name}]'],
    fields: {
      happened_at: 'When', utc_offset: TIME_ZONE, app_id: APP, app_name: APP_NAME, session_id: SESSION,
      device_id: technical(DEVICE), user_id: technical(USER),
      log_type: { label: 'Kind', values: { 1: 'error', 2: 'event', 3: 'the app went to the background' } },
      name: 'What happened, as the app calls it',
      detail: { label: 'What the app said about it', kind: 'json' },
    },
  },
  sessions: {
    title: 'Uses of apps',
    topic: 'activity',
    about: 'From when to when you used an app.',
    sentences: ['{started_at}[ to {ended_at}]: you used *{app_name}*'],
    fields: {
      started_at: 'Began', ended_at: 'Ended',
      background_seconds: 'Seconds that the app lay in the background meanwhile', utc_offset: TIME_ZONE,
      app_id: APP, app_name: APP_NAME, id: technical('Number of this use here'), device_id: DEVICE, user_id: technical(USER), ...CONTEXT,
      idiom: 'Kind of device, as the operating system says', carrier: 'Mobile network',
    },
  },
  session_heads: {
    title: 'Latest use of an app',
    topic: 'activity',
    about: 'The latest use of each app on each device.',
    sentences: ['{started_at}[ to {ended_at}]: you last used *{app_name}*'],
    fields: {
      app_id: APP, app_name: APP_NAME, customer_id: 'Id of the device or the user',
      session_id: SESSION,
      started_at: 'Began', ended_at: 'Ended',
    },
  },
  locations: {
    title: 'Places',
    topic: 'activity',
    about: 'Where you were while you used an app that may know it. Degrees are north and east; negative ones south and west.',
    sentences: ['{happened_at}: at {latitude}, {longitude}[, in {app_name}]'],
    fields: {
      happened_at: 'When', app_id: APP, app_name: APP_NAME, session_id: SESSION,
      latitude: 'Latitude in degrees', longitude: 'Longitude in degrees',
      device_id: technical(DEVICE), user_id: technical(USER),
    },
  },
  devices: {
    title: 'Devices',
    topic: 'identity',
    about: 'The devices on which you used an app, one entry for each app on a device.',
    sentences: ['*{app_name}* on a device[ ({device_model})], first used {first_seen_at}[, last used {last_seen_at}]'],
    fields: {
      app_id: APP, app_name: APP_NAME, device_id: DEVICE,
      current_user_id: { label: 'User who is logged in', kind: 'person' },
      last_user_id: { label: 'User who was last logged in', kind: 'person' },
      push_token: 'Address for messages to the app on the device',
      opt_in: 'Messages were agreed to', opt_out: 'Messages were declined',
      uninstalled: 'The app was removed from the device',
      number_of_sessions: 'How often the app was used', number_of_crashes: 'How often the app crashed', ...CONTEXT,
      last_city: 'Town where the device was last seen',
      last_latitude: 'Latitude of where it was last seen, in degrees',
      last_longitude: 'Longitude of where it was last seen, in degrees', utc_offset: TIME_ZONE,
      timezone: 'Time zone of the device, by its name',
      first_seen_at: { label: 'First used', kind: 'day' }, last_seen_at: { label: 'Last used', kind: 'day' },
      verified_user_id: technical('Your user id, where the app\'s server vouched for it on this device'),
      first_campaign_received_at: { label: 'First message of a campaign', kind: 'day' },
      last_campaign_received_at: { label: 'Last message of a campaign', kind: 'day' },
    },
  },
  segment_members: {
    title: 'Groups that you are in',
    topic: 'identity',
    about: 'The company puts people into groups by what it knows of them, for example to decide who gets a message.',
    sentences: ['You are in *{name}*[: {description}][ (*{app_name}*)]'],
    fields: {
      app_id: APP, app_name: APP_NAME, segment: technical('Group: its identifier here'), name: 'Group', description: 'What it is for',
      customer_id: technical('Your user id, or the device that you are known by'),
    },
  },
  segments: {
    title: 'Groups whose rules name you',
    topic: 'identity',
    about: 'Rules by which people are put into groups, where a rule names you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  funnels: {
    title: 'Counts of steps that name you',
    topic: 'activity',
    about: 'The company counts how many people go through certain steps in its apps. Here a step names you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  device_users: {
    title: 'Who used which device',
    topic: 'identity',
    about: 'The devices on which you were logged in to an app.',
    sentences: ['You were logged in to *{app_name}*, last on {last_seen_at}'],
    fields: { app_id: APP, app_name: APP_NAME, device_id: DEVICE, user_id: technical(USER), last_seen_at: { label: 'Last', kind: 'day' } },
  },
  user_aliases: {
    title: 'Ids that became others',
    topic: 'identity',
    about: 'That you were known by one id first, and by another later.',
    sentences: ['*{previous_id}* became *{user_id}*[ in {app_name}]: {first_seen_at}'],
    fields: {
      previous_id: { label: 'Earlier id', kind: 'person' }, user_id: { label: 'Later id', kind: 'person' },
      first_seen_at: { label: 'First reported by an app', kind: 'day' }, app_id: APP, app_name: APP_NAME,
      device_id: { label: 'Device that reported it', kind: 'person' },
    },
  },
  crashes: {
    title: 'Crashes',
    topic: 'activity',
    about: 'Messages of errors in apps that name you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  live_calls: {
    title: 'Last reports of apps',
    topic: 'activity',
    about: 'The last reports of an app as they came, for those who set the app up. They are kept for an hour.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  refused_calls: {
    title: 'Refused reports of apps',
    topic: 'activity',
    about: 'What an app has reported about you and could not be stored. It is kept for 30 days.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
} satisfies Record<string, LocationWords>;
