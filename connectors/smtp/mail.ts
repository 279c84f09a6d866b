import { type Outbox, outboxDelivery } from './mail-outbox.ts';
import { smtpDelivery } from './mail-smtp.ts';
import type { Mailer, MailOutcome } from './mailer.ts';

/** `smtpUrl` has no `smtpUrlError`. `from` is an address, or `Name <address>`. */
type MailSettings = { smtpUrl?: string | undefined; outbox: Outbox; from: string };

/** Sends by SMTP where there is a server for it, or else puts each mail as an `.eml` file into `outbox`. */
export function openMailer({ smtpUrl, outbox, from }: MailSettings): Mailer {
  const deliver = smtpUrl ? smtpDelivery(smtpUrl, from) : outboxDelivery(outbox, from);
  const underWay = new Set<Promise<MailOutcome>>();
  return {
    async send(mail) {
      if (mail.to.length === 0) return { outcome: 'not_sent', retryable: false, reason: 'The mail has no recipient.' };
      const attempt = deliver(mail);
      underWay.add(attempt);
      return attempt.finally(() => underWay.delete(attempt));
    },
    async close() {
      await Promise.allSettled(underWay);
    },
  };
}
