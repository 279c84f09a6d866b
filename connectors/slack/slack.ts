import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { type Alert, connector, type ConnectorContext, secret, refineBy } from '../core/contract.ts';
import { postForAnswer } from '../core/json-requests.ts';

/** The address of an incoming webhook is a secret: anyone who knows it can post. */
const SlackSettings = z.object({
  url: secret(z.string({ error: 'give the address' }).superRefine(refineBy('the address', sourceUrlError))).describe(
    'Address of the incoming webhook, as Slack, Mattermost, Rocket.Chat or Google Chat shows it',
  ),
});

const ADVICE = 'make a new incoming webhook, and give its address';

/** Escapes Slack's markup `&`, `<` and `>` (Slack: Formatting text for app surfaces, Escaping text). */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

async function post({ url }: z.output<typeof SlackSettings>, text: string, context: ConnectorContext): Promise<void> {
  const answer = await postForAnswer(url, { body: JSON.stringify({ text: slackText(text) }), advice: ADVICE }, context);
  await answer.end();
}

/** Posts alerts to any chat that takes `{"text": …}` at a webhook's address. The check posts a line. */
export const slack = connector({
  name: 'slack',
  title: 'Slack, or a chat with compatible incoming webhooks',
  settings: SlackSettings,
  alerts: {
    check: (settings, context) => post(settings, 'Millrace can post its alerts here.', context),
    send: (settings, { text, link }: Alert, context) => post(settings, `${text} ${link}`, context),
  },
});
