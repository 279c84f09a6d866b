/**
 * What became of a message on a device. The first seven are the reference's (Transactional messages, 2); the others
 * tell what these can't.
 */
export const ATTEMPT_CODES = {
  PUSH_SENT: 'the provider took the push',
  OPT_OUT:
    'the device takes no push: pushes turned off, no token, the app uninstalled, or the person opted out of analytics',
  MESSAGE_TO_BIG: 'the message has more than 32 KiB with its values, or the push is larger than its provider takes',
  MISSING_TEMPLATE_PARAMS: 'templateVars lack a value that has no default',
  NOT_ON_LAST_LOGIN: 'somebody else is logged in on the device',
  NO_DEVICE_FOR_USER: 'no device of the user has the app',
  CANCELED: 'the send, or its campaign, ended before this was sent',
  PENDING: 'waits to be sent',
  INAPP_AVAILABLE: 'the device gets the in-app message when it asks next',
  UNKNOWN:
    'the worker or the connection ended before the provider answered: the push may have been sent, and is not sent again',
  USER_NOT_VERIFIED:
    'the app requires verified users, and no signed user token vouched for the user on this device, or another push token ' +
    'has come since',
  MESSAGE_LIMIT: "the person got as many messages as the app's rate_limit allows",
  CONTROL_GROUP: "the person is in the entity's control group, which gets no campaign but transactional ones",
  EXPIRED: 'it could not be sent before it expired',
  REFUSED: 'the provider refused it; details have its words',
} as const;

/** What a waiting attempt waits for, as its details. */
export const WAITS_FOR = {
  quiet: "waits for the end of the app's quiet hours",
  rate: "waits for its moment at the app's send_rate",
  provider: 'waits for the provider, which takes no more at present',
} as const;

export type AttemptCode = keyof typeof ATTEMPT_CODES;
