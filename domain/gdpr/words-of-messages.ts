import { ATTEMPT_CODES } from '../sends/attempt.ts';
import { APP, APP_NAME, DEVICE, type LocationWords, MATCHES, technical, TEXT_MATCHES, USER } from './location-words.ts';

/** What is known of messages to a person. */
export const MESSAGE_WORDS = {
  attempts: {
    title: 'Messages to your devices',
    topic: 'messages',
    about:
      'Messages that the company sent to your devices, or wanted to send, in the last 30 days, and what became of them.',
    sentences: ['{created_at}: *{campaign}* for {app_name}: {code}[; opened {opened_at}]'],
    fields: {
      app_id: APP,
      app_name: APP_NAME,
      campaign: 'Campaign',
      channel: {
        label: 'Kind',
        values: {
          push: 'message on the device',
          inapp: 'message in the app',
          both: 'message on the device and in the app',
        },
      },
      code: { label: 'What became of it', values: ATTEMPT_CODES },
      details: 'More of that',
      content: { label: 'What it says', kind: 'json' },
      device_id: technical(DEVICE),
      user_id: technical(USER),
      created_at: 'When it was made',
      settled_at: 'When it was done',
      delivered_at: 'When the device received it',
      opened_at: 'When it was opened',
      shown_at: 'When the app showed it',
      clicked_at: 'When it was clicked',
    },
  },
  send_messages: {
    title: 'Messages that wait to be sent',
    topic: 'messages',
    about:
      'Messages that the company asked Millrace to send to you, and for which Millrace has not looked at your devices yet.',
    sentences: ['{received_at}: a message was asked for'],
    fields: { user_id: USER, vars: { label: 'What is said of you in it', kind: 'json' }, received_at: 'When' },
  },
  campaign_audience: {
    title: 'Messages of campaigns that you will get',
    topic: 'messages',
    about: 'Campaigns of the company that are about to send a message to your devices.',
    sentences: ['{due_at}: *{campaign}*'],
    fields: {
      campaign: 'Campaign',
      person: technical('Your user id, or your device, behind one letter'),
      device_id: technical(DEVICE),
      due_at: 'When',
    },
  },
  campaign_members: {
    title: 'Campaigns that may send to you',
    topic: 'messages',
    about: 'Campaigns of the company that send a message whenever certain things are true of you, while they run.',
    sentences: ['*{campaign}*: {notified} messages so far[; the last one {last_notified_at}]'],
    fields: {
      campaign: 'Campaign',
      person: technical('Your user id, or your device, behind one letter'),
      is_member: 'It applies to you now',
      notified: 'Messages',
      last_notified_at: 'Last',
    },
  },
  campaign_people: {
    title: 'Messages of more than 30 days ago',
    topic: 'messages',
    about: 'How many messages of a campaign you got, where the messages themselves are no longer kept.',
    sentences: [
      '*{campaign}*: {sent} messages on the device, of which you opened {opened}, and {shown} in the app, of which you clicked ' +
        '{clicked}[; the last one on the device {last_sent_at}]',
    ],
    fields: {
      campaign: 'Campaign',
      person: technical('Your user id, or your device, behind one letter'),
      sent: 'Messages on the device',
      opened: 'Opened by you',
      shown: 'Messages in the app',
      clicked: 'Clicked by you',
      last_sent_at: { label: 'Last one on the device', kind: 'day' },
    },
  },
  campaigns: {
    title: 'Campaigns whose rules name you',
    topic: 'messages',
    about: 'Rules by which the company chooses who gets a message, where a rule names you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
} satisfies Record<string, LocationWords>;
