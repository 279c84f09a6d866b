import { APP, APP_NAME, DEVICE, type LocationWords, TEXT_MATCHES, TIME_ZONE, USER } from './location-words.ts';

const CONTEXT = {
  app_version: 'The app\'s version', os_version: 'The operating system\'s version',
  sdk_version: 'The version of the library that reports this',
  device_type: 'What kind of device it is', device_model: 'The device\'s model',
  country: 'The country that the device is set to, as a code of two letters', lang: 'The language that the device is set to, as a code',
};

const SESSION = 'The use of the app that it belongs to: its number in the list of uses';

/** What apps tell of what people do in them. */
export const APP_WORDS = {
  events: {
    title: 'What happened in apps',
    about: 'What the person did in an app, and what the app noted while they used it.',
    fields: {
      happened_at: 'When (UTC)', utc_offset: TIME_ZONE, app_id: APP, app_name: APP_NAME,
      session_id: SESSION,
      device_id: DEVICE, user_id: USER,
      log_type: 'What kind of event it is: 1 an error of the app, 2 an event, 3 the app went to the background',
      name: 'What happened, as the app calls it',
      detail: { means: 'More about it, as the app sent it', kind: 'json' },
    },
  },
  sessions: {
    title: 'Uses of apps',
    about: 'From when to when the person used an app.',
    fields: {
      started_at: 'When it began (UTC)', ended_at: 'When it ended (UTC)',
      background_seconds: 'How long the app lay in the background meanwhile, in seconds', utc_offset: TIME_ZONE,
      app_id: APP, app_name: APP_NAME, id: 'The number of this use here', device_id: DEVICE, user_id: USER, ...CONTEXT,
      idiom: 'What kind of device it is, as the operating system says', carrier: 'The mobile network',
    },
  },
  session_heads: {
    title: 'Latest use of an app',
    about: 'The latest of the uses of apps, for each app and device.',
    fields: {
      app_id: APP, app_name: APP_NAME, customer_id: 'The device\'s or the user\'s id',
      session_id: SESSION,
      started_at: 'When it began (UTC)', ended_at: 'When it ended (UTC)',
    },
  },
  locations: {
    title: 'Places',
    about: 'Where the person was while they used an app that may know it.',
    fields: {
      happened_at: 'When (UTC)', app_id: APP, app_name: APP_NAME, session_id: SESSION,
      latitude: 'The latitude in degrees, north positive', longitude: 'The longitude in degrees, east positive',
      device_id: DEVICE, user_id: USER,
    },
  },
  devices: {
    title: 'Devices',
    about: 'The devices on which the person used an app, one entry for each app on a device (an installation).',
    fields: {
      app_id: APP, app_name: APP_NAME, device_id: DEVICE,
      current_user_id: { means: 'Who is logged in on it; another person is not named', kind: 'person' },
      last_user_id: { means: 'Who used it last; another person is not named', kind: 'person' },
      push_token: 'The address under which messages reach the app on the device',
      opt_in: 'Whether messages to the device were agreed to', opt_out: 'Whether messages to the device were declined',
      uninstalled: 'Whether the app was removed from the device',
      number_of_sessions: 'How often the app was used on it', number_of_crashes: 'How often the app crashed on it', ...CONTEXT,
      last_city: 'The town where the device was last seen',
      last_latitude: 'The latitude of where it was last seen, in degrees, north positive',
      last_longitude: 'The longitude of where it was last seen, in degrees, east positive', utc_offset: TIME_ZONE,
      first_seen_at: 'When the app was first used on it (UTC)', last_seen_at: 'When the app was last used on it (UTC)',
    },
  },
  device_users: {
    title: 'Who used which device',
    about: 'On which devices the person was logged in to an app.',
    fields: { app_id: APP, app_name: APP_NAME, device_id: DEVICE, user_id: USER, last_seen_at: 'When they last were (UTC)' },
  },
  user_aliases: {
    title: 'Ids that became others',
    about: 'That the person was known by one id first, and by another later.',
    fields: {
      previous_id: { means: 'The earlier id', kind: 'person' }, user_id: { means: 'The later id', kind: 'person' },
      first_seen_at: 'When an app told so first (UTC)', app_id: APP, app_name: APP_NAME,
      device_id: { means: 'The device that told so', kind: 'person' },
    },
  },
  crashes: {
    title: 'Crashes',
    about: 'Messages of errors in apps that name the person.',
    fields: TEXT_MATCHES,
  },
  live_calls: {
    title: 'Last reports of apps',
    about: 'The last reports of an app as they came, for those who set the app up. They are kept for an hour.',
    fields: TEXT_MATCHES,
  },
  refused_calls: {
    title: 'Refused reports of apps',
    about: 'What an app has reported about the person and could not be taken in. It is kept for 30 days.',
    fields: TEXT_MATCHES,
  },
} satisfies Record<string, LocationWords>;
