/** One mail to colleagues, who see each other in `To`. Plain text. */
export type Mail = {
  /** Bare addresses, at least one. */
  to: string[];
  subject: string;
  text: string;
  /**
   * The caller's, a different one for each mail: sent twice, a mail is known by it. `<left@right>`, or without the
   * brackets.
   */
  messageId: string;
};

/**
 * What is known of an attempt. A `reason` says what to do; it quotes no address, no text of the mail and no secret.
 * `unknown`: the mail was handed over and no answer came, so sending it again may send it twice.
 */
export type MailOutcome =
  /** `rejected`: how many of the recipients the server refused; the others get it. */
  | { outcome: 'sent'; rejected: number }
  /** There is no server: it lies in a file. */
  | { outcome: 'filed' }
  /** Known not to be accepted. `retryable`: the same mail may go through later without anyone changing anything. */
  | { outcome: 'not_sent'; retryable: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

export type Mailer = {
  /** One attempt, never repeated by itself. Does not throw. */
  send(mail: Mail): Promise<MailOutcome>;
  /** Waits for what is being sent. */
  close(): Promise<void>;
};
