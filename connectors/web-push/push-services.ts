/**
 * Push services that browsers' subscriptions may use. A caller chooses the endpoint, so the operator must allow others.
 */

/** Says whether pushes may go to a host and port. */
export type PushServices = { allows(host: string, port: number): boolean };

/** Hosts of Chrome and other Chromium browsers, Firefox, Safari, and Edge. */
const KNOWN = [
  'fcm.googleapis.com',
  'updates.push.services.mozilla.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
].map((name) => ({ name, port: 443 }));

type Entry = { name: string; port: number | null };

const ENTRY = /^(?<name>\*|(?:\*\.)?[a-z\d_-]+(?:\.[a-z\d_-]+)*)(?::(?<port>[1-9]\d{0,4}))?$/;

/**
 * Reads MILLRACE_PUSH_SERVICES, which adds to the known services; a string is its error, to follow the variable's name.
 */
export function readPushServices(text: string): PushServices | string {
  const added: Entry[] = [];
  for (const entry of text.trim() === '' ? [] : text.split(',')) {
    const { name, port } = ENTRY.exec(entry.trim().toLowerCase())?.groups ?? {};
    if (name === undefined) {
      return (
        `has a wrong entry: ${entry.trim()}. Write hosts (push.example.com, push.example.com:8443), *.example.com for all below one, ` +
        'or * for all, with commas between'
      );
    }
    added.push({ name, port: port === undefined ? null : Number(port) });
  }
  const entries = [...KNOWN, ...added];
  return {
    allows: (host, port) =>
      entries.some((entry) => (entry.port === null || entry.port === port) && covers(entry.name, host)),
  };
}

export const KNOWN_PUSH_SERVICES = readPushServices('') as PushServices;

function covers(name: string, host: string): boolean {
  const bare = host.toLowerCase().replace(/\.$/, '');
  return name === '*' || (name.startsWith('*.') ? bare.endsWith(name.slice(1)) : bare === name);
}
