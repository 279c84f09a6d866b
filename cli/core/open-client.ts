import { BAD_URL, type Client, createClient, NOT_SENT, UNREACHABLE } from '../../api/client.ts';
import type { Refusal } from '../../domain/core/refusal.ts';

/** The server's address and the caller's token. */
export type Server = { url: string; token?: string | undefined };

/** The server's message. */
const NO_TOKEN = 'Invalid or missing token';

/** Opens a client whose refusals say what to set. */
export function openClient(server: Server, command: string): Client {
  return createClient({ ...server, explain: (refusal) => explain(refusal, command) });
}

function explain({ status, message }: Refusal, command: string): string {
  if (status === UNREACHABLE) return `${message}: is the server running, and MILLRACE_URL right?`;
  if (status === BAD_URL) return 'MILLRACE_URL is no URL: set it to one such as http://127.0.0.1:8080.';
  if (status === NOT_SENT) return message.replace('is the token right', 'is MILLRACE_TOKEN right');
  return message === NO_TOKEN
    ? `${message}: set MILLRACE_TOKEN to what \`${command} login\` prints, or to a service token`
    : message;
}
