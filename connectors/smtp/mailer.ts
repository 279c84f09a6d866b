/** One mail to colleagues, who see each other in `To`. Plain text. */
export type Mail = {
  /** Bare addresses, at least one. */
  to: string[];
  subject: string;
  text: string;
  /**
   * Given by the caller, unique for each mail, so that a repeated mail is recognised. `<left@right>`, or without the
   * brackets.
   */
  messageId: string;
};

/**
 * Outcome of an attempt. A `reason` says what to do; it quotes no address, no text of the mail and no secret.
 * `unknown`: the mail was handed over without an answer, so a retry may send it twice.
 */
export type MailOutcome =
  /** `rejected`: number of recipients that the server refused; the others get it. */
  | { outcome: 'sent'; rejected: number }
  /** Without a server: written to a file. */
  | { outcome: 'filed' }
  /** Not accepted. `retryable`: the same mail may succeed later without any change. */
  | { outcome: 'not_sent'; retryable: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

export type Mailer = {
  /** Makes one attempt, without retries. Does not throw. */
  send(mail: Mail): Promise<MailOutcome>;
  /** Waits for running sends. */
  close(): Promise<void>;
};
